// SPDX-License-Identifier: MIT
// Whether a host name has moved to another server while a connection to its old one stands. It
// looks nothing up and reads no clock: answers of the name server go in.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace mortise::remote {

/// A name has moved when several answers in a row are the same, and none has the connected address.
/// Some name servers rotate: they answer with a part of the addresses, another one each time. If
/// the connected address was absent from some answers and comes back, the name rotates, and from
/// then on more answers are needed.
/// @thread_safety one thread at a time
class MovedName {
 public:
  static constexpr std::size_t answers_at_first = 3;
  static constexpr std::size_t answers_at_most = 60;

  /// A connection leads to that address.
  void connected(std::string address) {
    if (moved_ && address == address_) note_return();  // the name server led back there
    address_ = std::move(address);
    moved_ = false;
    absent_ = same_ = 0;
    last_.clear();
  }
  /// @param addresses those of one answer; none = it was no answer, and does not count
  /// @return whether the name has moved.
  [[nodiscard]] bool answered(std::vector<std::string> addresses) {
    if (addresses.empty() || moved_) return moved_;
    std::sort(addresses.begin(), addresses.end());
    if (std::binary_search(addresses.begin(), addresses.end(), address_)) {
      note_return();
      absent_ = same_ = 0;
      last_.clear();
      return false;
    }
    ++absent_;
    same_ = addresses == last_ ? same_ + 1 : 1;
    last_ = std::move(addresses);
    // Different answers that all lack the address are a rotation, as long as it may come back.
    moved_ = same_ >= needed_ || absent_ >= answers_at_most;
    return moved_;
  }
  /// @return the last answer that had not the connected address; empty = there is none.
  [[nodiscard]] const std::vector<std::string>& elsewhere() const noexcept { return last_; }

 private:
  void note_return() noexcept {
    if (absent_ > 0) needed_ = std::clamp(2 * absent_ + 1, needed_, answers_at_most);
  }

  std::string address_;
  std::vector<std::string> last_;
  std::size_t absent_ = 0;  // answers in a row without the address
  std::size_t same_ = 0;    // ... that were equal
  std::size_t needed_ = answers_at_first;
  bool moved_ = false;
};

}  // namespace mortise::remote
