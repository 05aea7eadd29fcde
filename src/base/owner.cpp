// SPDX-License-Identifier: MIT
// Owner numbers: one counter for the process, never reused; and which of them are threads that
// live.
#include <mortise/owner.hpp>

#include "base/live_threads.hpp"

#include <atomic>

namespace mortise {
namespace {

// A thread that finds no place in it, among ten thousand others, has a number as `unique()` gives
// it: that it has ended is not noticed.
constinit base::LiveThreads<16'384, 64> live;

constinit thread_local std::uint64_t own_id = 0;

/// @return an even number that no owner has.
std::uint64_t draw() noexcept {
  static constinit std::atomic<std::uint64_t> last{0};
  return last.fetch_add(2, std::memory_order_relaxed) + 2;
}

/// The number itself is another variable, without a destructor: what ends after this one, such as a
/// thread_local std::unique_lock that was made before, still unlocks as the owner that it is.
struct End {
  ~End() { live.leave(own_id); }
};

std::uint64_t begin() noexcept {
  const std::uint64_t id = draw();
  if (!live.enter(id | 1U)) return id;
  thread_local const End end;
  static_cast<void>(end);
  return id | 1U;
}

}  // namespace

Owner Owner::this_thread() noexcept {
  if (own_id == 0) own_id = begin();
  return Owner(own_id);
}

Owner Owner::unique() noexcept { return Owner(draw()); }

bool base::has_ended(Owner owner) noexcept { return is_thread(owner) && !live.has(owner.id()); }

}  // namespace mortise
