// SPDX-License-Identifier: MIT
#include "placement.hpp"

#include <cerrno>
#include <cstddef>
#include <system_error>
#include <vector>

namespace mortise::bench {
namespace {

/// The CPUs that this process was started with.
const std::vector<std::size_t>& cpus() {
  static const std::vector<std::size_t> found = [] {
    cpu_set_t set{};
    ::sched_getaffinity(0, sizeof set, &set);
    std::vector<std::size_t> out;
    for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) out.push_back(cpu);
    }
    return out;
  }();
  return found;
}

}  // namespace

const char* letter(Mode mode) noexcept {
  switch (mode) {
    case Mode::same: return "S";
    case Mode::crossed: return "X";
    case Mode::unpinned: break;
  }
  return "U";
}

bool possible(Mode mode) noexcept { return mode != Mode::crossed || cpus().size() >= 2; }

void place(Mode mode, Side side) {
  cpu_set_t set{};
  if (mode == Mode::unpinned) {
    for (const std::size_t cpu : cpus()) CPU_SET(cpu, &set);
  } else {
    const bool second = mode == Mode::crossed && side == Side::client;
    CPU_SET(cpus().at(second ? 1 : 0), &set);
  }
  if (::sched_setaffinity(0, sizeof set, &set) != 0) {
    throw std::system_error(errno, std::generic_category(), "sched_setaffinity");
  }
}

Placed::Placed(Mode mode, Side side) {
  static_cast<void>(cpus());  // before this thread is placed for the first time
  ::sched_getaffinity(0, sizeof before_, &before_);
  place(mode, side);
}

Placed::~Placed() { ::sched_setaffinity(0, sizeof before_, &before_); }

}  // namespace mortise::bench
