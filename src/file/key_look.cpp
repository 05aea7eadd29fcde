// SPDX-License-Identifier: MIT
// The record is read before and after the lock is asked for: where it is the same one, both are of
// one moment.
#include "file/key_look.hpp"

#include "file/key_page.hpp"
#include "file/lock_file.hpp"

#include <chrono>
#include <cstdint>
#include <utility>

namespace mortise::file {
namespace {

// How often it looks again, where others change what it looks at.
constexpr int looks = 100;

bool over(const KeySlot& slot) noexcept {
  const std::chrono::milliseconds keep_until(slot.keep_until);
  return keep_until <= std::chrono::system_clock::now().time_since_epoch();
}

// @param steady whether all of it is of one moment
Failure look(const Directory& directory, LockFile& file, bool& steady, mortise::Record& out) {
  KeyPage page;
  KeyPage after;
  steady = false;
  if (Failure why = page.read(file)) return why;
  bool held = false;
  if (Failure why = file.locked_elsewhere(held)) return why;
  const KeySlot* const slot = page.newest();
  out = slot == nullptr ? mortise::Record{} : slot->record();
  bool whole = true;
  if (slot != nullptr && slot->concluded()) {
    if (const int error = read_bytes(file.descriptor(), *slot, out.bytes, whole)) {
      return file.failed(error, "read");
    }
  }
  if (Failure why = after.read(file)) return why;
  const std::uint64_t sequence = slot == nullptr ? 0 : slot->sequence;
  steady = sequence == (after.newest() == nullptr ? 0 : after.newest()->sequence) &&
           file.named() != LockFile::Named::no;
  if (!steady || slot == nullptr) return {};
  if (after.damaged() || (page.settled(*slot) && !whole)) {
    steady = false;
    return file.not_ours(
        "the record of the key is damaged; check what its run did, then forget the key");
  }
  const bool told = slot->concluded() && page.settled(*slot);
  out.held = held && !told && slot->state != KeyState::absent;
  if (slot->state == KeyState::absent || (over(*slot) && !out.held)) {
    out = {};
  } else if (slot->concluded() && !told && (held || !whole)) {
    // Its runner is at it still, or has died over it.
    out.state = KeyState::pending;
    out.bytes.clear();
  } else if (slot->concluded() && !told) {
    return file.flush(directory);
  }
  return {};
}

}  // namespace

Failure look_at_key(const Directory& directory, const std::string& key,
                    std::shared_ptr<const mortise::Record>& out) {
  mortise::Record found;
  Failure why;
  for (int i = 0; i < looks; ++i) {
    std::shared_ptr<LockFile> file;
    bool steady = true;
    found = {};
    why = LockFile::open_to_read(directory, key, Mode::once, LockFile::Missing::leave, file);
    if (!why && file) why = look(directory, *file, steady, found);
    if (steady) break;
  }
  if (!why) out = std::make_shared<const mortise::Record>(std::move(found));
  return why;
}

}  // namespace mortise::file
