// SPDX-License-Identifier: MIT
// What a caller of `Once` is told about its key.
#pragma once

#include <mortise/export.hpp>
#include <mortise/record.hpp>
#include <mortise/token.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace mortise {

/// What became of a key, as far as one call has learned it. A value; copies share the bytes.
/// @thread_safety every member may be called concurrently.
class MORTISE_API Outcome {
 public:
  /// Nothing is known: `absent`.
  Outcome() noexcept = default;
  /// For the library.
  explicit Outcome(std::shared_ptr<const Record> record, bool replayed = false,
                   bool lost = false) noexcept
      : record_(std::move(record)), replayed_(replayed), lost_(lost) {}

  /// @return what the key stands at. After a call to run it: `succeeded`, `failed`, or `pending`
  /// (somebody else ran it until the caller's time was up; or this run was `lost()`).
  [[nodiscard]] KeyState state() const noexcept {
    return record_ ? record_->state : KeyState::absent;
  }
  /// @return the recorded result, any bytes; empty unless `succeeded`.
  [[nodiscard]] const std::string& result() const noexcept { return bytes_of(KeyState::succeeded); }
  /// @return the recorded reason of the failure; empty unless `failed`.
  [[nodiscard]] const std::string& reason() const noexcept { return bytes_of(KeyState::failed); }
  /// @return whether somebody else recorded it, in an earlier run or beside this call.
  [[nodiscard]] bool replayed() const noexcept { return replayed_; }
  /// @return the fencing token of the run that this tells of; empty where that is not known.
  [[nodiscard]] Token token() const noexcept;
  /// @return the number of that run: 1 for the first since the key was absent, one more for each
  /// that follows a death or a failure (or, by `Repeat::always`, a success); 0 = not known.
  [[nodiscard]] std::uint64_t number() const noexcept { return record_ ? record_->run : 0; }
  /// @return whether a runner had the key at that moment.
  [[nodiscard]] bool running() const noexcept { return record_ && record_->held; }
  /// @return whether this caller was the runner and had lost the key before its outcome was
  /// recorded: nothing of it is recorded, and somebody else may run the key, or have run it.
  [[nodiscard]] bool lost() const noexcept { return lost_; }

 private:
  [[nodiscard]] const std::string& bytes_of(KeyState state) const noexcept;

  std::shared_ptr<const Record> record_;
  bool replayed_ = false;
  bool lost_ = false;
};

}  // namespace mortise
