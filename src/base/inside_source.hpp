// SPDX-License-Identifier: MIT
// The mark of a thread that is inside of a source. Whoever detaches a source waits until nobody is
// inside of it; a thread that is in one itself cannot wait for its own return, nor, with a mutex
// of the backend's in its hands, for others that may want that mutex to return.
#pragma once

namespace mortise::base {

/// Stands around every call of a source, by an engine or without one.
class InsideSource {
 public:
  InsideSource() noexcept { ++depth(); }
  InsideSource(const InsideSource&) = delete;
  InsideSource& operator=(const InsideSource&) = delete;
  ~InsideSource() { --depth(); }
  [[nodiscard]] static bool on_this_thread() noexcept { return depth() > 0; }

 private:
  static int& depth() noexcept;
};

}  // namespace mortise::base
