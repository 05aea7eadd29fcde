// SPDX-License-Identifier: MIT
// The number is kept as that of a lock's last grant is, by the same code, under a lock of its own.
#include "file/number_floor.hpp"

namespace mortise::file {
namespace {

// Not a name that file_name() ever yields.
constexpr const char* floor_file = ".numbers";
constexpr int most_rounds = 8;

}  // namespace

Failure NumberFloor::open_locked() {
  if (file_ && file_->named() == LockFile::Named::yes) return {};
  file_.reset();
  for (int round = 0; round < most_rounds && !file_; ++round) {
    if (Failure why = LockFile::open_own(directory_, floor_file, file_)) return why;
  }
  if (file_) return {};
  return {Errc::unavailable,
          "file " + directory_.path_of(floor_file) +
              ": the file is replaced repeatedly; find the program that does so"};
}

Failure NumberFloor::read(std::uint64_t& out) {
  const std::lock_guard hold(mutex_);
  if (Failure why = open_locked()) return why;
  return file_->grants().last_number(out);
}

Failure NumberFloor::raise(std::uint64_t number, bool& noted) {
  const std::lock_guard hold(mutex_);
  noted = false;
  if (Failure why = open_locked()) return why;
  std::uint64_t floor = 0;
  if (Failure why = file_->grants().last_number(floor)) return why;
  noted = floor >= number;  // it only ever grows
  bool locked = false;
  if (noted) return {};
  if (Failure why = file_->try_lock(locked); why || !locked) return why;
  // Up to the wall clock, so that it is seldom written.
  const std::uint64_t above = number;
  Failure why = file_->grants().record({}, floor, above);
  if (!why && flush_) why = file_->flush(directory_);
  file_->unlock(1);
  noted = !why;
  return why;
}

}  // namespace mortise::file
