// SPDX-License-Identifier: MIT
// A scene of the program in short_of_memory_main.cpp: the disk takes no grant of a permit, and
// there is no memory for words about that.
#pragma once

#include <mortise/mortise.hpp>

#include "model/temporary.hpp"
#include "support/failing_allocations.hpp"

#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <new>
#include <string>
#include <system_error>

namespace mortise::test {

struct RefusedPermit {
  bool reached = false;  ///< so many allocations there were
  bool free = false;     ///< another client gets the permit
};

/// From its making to its end, this process writes to no file.
class NoWriting {
 public:
  NoWriting() noexcept : before_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &limit_);
    const rlimit none{.rlim_cur = 0, .rlim_max = limit_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &none);
  }
  NoWriting(const NoWriting&) = delete;
  NoWriting& operator=(const NoWriting&) = delete;
  ~NoWriting() {
    ::setrlimit(RLIMIT_FSIZE, &limit_);
    static_cast<void>(std::signal(SIGXFSZ, before_));
  }

 private:
  rlimit limit_{};
  void (*const before_)(int);
};

[[nodiscard]] inline RefusedPermit grant_a_permit_without_memory(long fails_at) {
  const model::TemporaryDirectory directory;
  const std::string url = "file://" + directory.path();
  Client first(url);
  Client second(url);
  Client other(url);
  std::error_code ec;
  Semaphore of_first = first.make_semaphore("name", 2);
  Semaphore of_second = second.make_semaphore("name", 2);
  const Permit held = of_first.try_acquire(ec);
  static_cast<void>(of_second.try_acquire(ec));  // its file is open from now on
  RefusedPermit outcome;
  {
    const NoWriting no_writing;
    until_failure = fails_at;
    try {
      const Permit refused = of_second.try_acquire(ec);
      outcome.reached = until_failure == 0;
    } catch (const std::bad_alloc&) {
      outcome.reached = true;
    }
    until_failure = 0;
  }
  outcome.free = static_cast<bool>(other.make_semaphore("name", 2).try_acquire(ec));
  return outcome;
}

}  // namespace mortise::test
