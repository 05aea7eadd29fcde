// SPDX-License-Identifier: MIT
#include "postgres/parts.hpp"

#include "base/farewell.hpp"
#include "base/mutant.hpp"
#include "base/random_id.hpp"
#include "postgres/polling.hpp"

#include <algorithm>

namespace mortise::postgres {
namespace {

// A call that found its row locked: how soon it looks again, doubled each time.
constexpr std::chrono::milliseconds first_look{2};

}  // namespace

std::chrono::nanoseconds next_look(unsigned in_vain) {
  const auto longest =
      std::min<std::chrono::nanoseconds>(longest_look, first_look * (1U << std::min(in_vain, 10U)));
  if (base::mutant("postgres.look_in_step")) return longest;
  // In the upper half of the time. Otherwise clients that met at the row meet there again.
  const double part = 0.5 + base::SplitMix(base::random_bits()).unit() / 2;
  return std::chrono::nanoseconds(
      static_cast<std::int64_t>(part * static_cast<double>(longest.count())));
}

void Parts::ask(const std::shared_ptr<Acquisition>& operation) const {
  if (attempts.wanted(operation)) exchange->ask(operation);
}

void Parts::again_soon(const Call& call) const {
  Call next = call;
  ++next.in_vain;
  exchange->repeat_at(next, now() + next_look(call.in_vain));
}

void Parts::ring(Mode mode, const std::string& name) const noexcept {
  // Owners and readers wait for the same names.
  const Mode space = is_lock(mode) ? Mode::exclusive : mode;
  base::without_memory([&] {
    bell.freed({.mode = space, .name = name});
    ring_for_the_rest();
  });
}

// In a transaction of its own, so that no release depends on it, and one at a time.
void Parts::ring_for_the_rest() const {
  if (polling->is_closed() || base::mutant("postgres.forget_to_wake")) return;
  if (auto wake = bell.next()) {
    exchange->submit(Call::made(Call::Kind::wake, std::move(wake), now()));
  }
}

}  // namespace mortise::postgres
