// SPDX-License-Identifier: MIT
// What a key's file remembers: a record, in one of two places that are written in turn, so that
// what a crash leaves half written is seen by its checksum, and the record before it stands.
#pragma once

#include <mortise/operation.hpp>
#include <mortise/record.hpp>

#include "file/header.hpp"
#include "file/open_file.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mortise::file {

/// A record as it lies in the file; with its bytes, where there is room for them.
struct KeySlot {
  std::uint64_t checksum = 0;  ///< of all that follows
  std::uint64_t sequence = 0;  ///< grows by one with each record of the file, from 1
  std::uint64_t run = 0;
  std::uint64_t number = 0;     ///< of the run's grant
  std::int64_t keep_until = 0;  ///< wall clock in milliseconds
  AttemptId attempt{};          ///< whose run it is
  std::uint64_t bytes_sum = 0;  ///< the checksum of the bytes
  std::uint32_t size = 0;       ///< of the bytes
  KeyState state = KeyState::absent;
  std::uint8_t fingerprint_size = 0;
  std::uint16_t unused = 0;
  char text[432] = {};  ///< the fingerprint; then the bytes, or nothing

  void set_fingerprint(std::string_view fingerprint) noexcept;
  [[nodiscard]] std::string_view fingerprint() const noexcept { return {text, fingerprint_size}; }
  /// @return whether the bytes need no room elsewhere in the file.
  [[nodiscard]] bool bytes_inside() const noexcept {
    return size <= sizeof text - fingerprint_size;
  }
  /// @return whether a run has said what became of it.
  [[nodiscard]] bool concluded() const noexcept {
    return state == KeyState::succeeded || state == KeyState::failed;
  }
  /// @return the record in the words of the interface, without its bytes.
  [[nodiscard]] mortise::Record record() const;
};

/// The first page of a key's file, as one read found it. Without the lock it may be a mixture of
/// two moments: whatever it says of a record is right, but a newer one may be missing.
class KeyPage {
 public:
  KeyPage() = default;
  KeyPage(const KeyPage&) = delete;
  KeyPage& operator=(const KeyPage&) = delete;

  /// @return 0 or an errno.
  [[nodiscard]] int read(int fd) noexcept;
  /// Reads the page of a file that is blank, or one of ours.
  [[nodiscard]] Failure read(const OpenFile& file);

  [[nodiscard]] bool blank() const noexcept { return page_.header.blank(); }
  [[nodiscard]] bool ours() const noexcept { return page_.header.ours(); }
  /// @return the number of the last grant.
  [[nodiscard]] std::uint64_t last_number() const noexcept { return page_.header.grant.number; }
  /// @return the record that stands, or null.
  [[nodiscard]] const KeySlot* newest() const noexcept { return newest_; }
  /// @return the one before it, if it is still there.
  [[nodiscard]] const KeySlot* before() const noexcept { return before_; }
  /// @return whether the disk has the record for certain: only then may anybody be told of it.
  [[nodiscard]] bool settled(const KeySlot& slot) const noexcept {
    return slot.sequence <= page_.settled;
  }
  /// @return whether a record is gone that the disk had.
  [[nodiscard]] bool damaged() const noexcept {
    return page_.settled > (newest_ == nullptr ? 0 : newest_->sequence);
  }
  /// @return the sequence of the record that is to be written next.
  [[nodiscard]] std::uint64_t next() const noexcept;

 private:
  struct Bytes {
    Header header;
    char unused[settled_offset - sizeof(Header)];
    std::uint64_t settled;
    char name[2304];
    KeySlot slots[2];
    char rest[512];
  };
  static_assert(sizeof(Bytes) == file_size);

  Bytes page_{};
  const KeySlot* newest_ = nullptr;
  const KeySlot* before_ = nullptr;
};

/// Each returns 0 or an errno.
/// @param whole whether they are the bytes that were written with the record
[[nodiscard]] int read_bytes(int fd, const KeySlot& slot, std::string& out, bool& whole);
/// Under the lock. What it fills in: the sizes and the sums. The record that stands is not touched.
[[nodiscard]] int write_slot(int fd, KeySlot& slot, std::string_view bytes) noexcept;
/// Notes that the disk has all records up to this one. Under the lock, after a flush.
[[nodiscard]] int write_settled(int fd, std::uint64_t sequence) noexcept;

}  // namespace mortise::file
