// SPDX-License-Identifier: MIT
// Other clients see a waiter by the kernel's lock of its client on a byte, which ends with the
// process.
#include "file/waiters.hpp"

#include "core/figures.hpp"

#include <algorithm>
#include <utility>

namespace mortise::file {
namespace {

// A writer that waits need not write each time that it asks: see `writer_silence`.
constexpr std::chrono::nanoseconds asking_again = core::fallback_period / 2;

}  // namespace

Waiter* Waiters::find(const Acquisition& operation) noexcept {
  const auto found = std::find_if(list_.begin(), list_.end(), [&](const Waiter& waiter) {
    return waiter.operation.get() == &operation;
  });
  return found == list_.end() ? nullptr : &*found;
}

bool Waiters::has_others(const Acquisition& operation) const noexcept {
  return std::any_of(list_.begin(), list_.end(),
                     [&](const Waiter& waiter) { return waiter.operation.get() != &operation; });
}

bool Waiters::has_writer() const noexcept {
  return std::any_of(list_.begin(), list_.end(), [](const Waiter& waiter) {
    return waiter.operation->request().mode == Mode::exclusive;
  });
}

void Waiters::erase(const Acquisition& operation) noexcept {
  std::erase_if(list_, [&](const Waiter& waiter) { return waiter.operation.get() == &operation; });
}

std::vector<Waiter> Waiters::take() noexcept {
  announced_ = false;
  return std::exchange(list_, {});
}

void Waiters::announce(const LockFile& file, Mode mode) noexcept {
  // Where these fail no client is let in that should not be; a waiter may have to wait longer.
  if (!announced_) {
    static_cast<void>(
        try_lock_bytes(file.descriptor(), waiting_byte, ByteLock::shared, announced_));
  }
  const Instant now = BootClock::now();
  if (mode != Mode::exclusive || now - asked_at_ < asking_again) return;
  asked_at_ = now;
  static_cast<void>(write_writer_asked_at(file.descriptor(), now.time_since_epoch().count()));
}

bool Waiters::announces() const noexcept {
  return announced_ && std::any_of(list_.begin(), list_.end(), [](const Waiter& waiter) {
           return waiter.operation->request().mode != Mode::shared;
         });
}

void Waiters::file_replaced() noexcept {
  announced_ = false;
  asked_at_ = {};
}

}  // namespace mortise::file
