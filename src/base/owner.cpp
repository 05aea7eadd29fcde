// SPDX-License-Identifier: MIT
// Owner numbers: one counter for the process, never reused.
#include <mortise/owner.hpp>

#include <atomic>

namespace mortise {
namespace {

std::uint64_t draw() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

Owner Owner::this_thread() noexcept {
  thread_local const std::uint64_t id = draw();
  return Owner(id);
}

Owner Owner::unique() noexcept { return Owner(draw()); }

}  // namespace mortise
