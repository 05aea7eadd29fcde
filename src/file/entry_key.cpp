// SPDX-License-Identifier: MIT
// A key, which is a lock whose file remembers: what is asked before the lock is tried for, what is
// written under it, and in which order the disk has it.
//
// Nobody is told of an outcome that the disk may lose: the key would be run again
// although somebody knows its result. So a runner writes the record, flushes it, notes that it is
// settled, and only then frees the key; and whoever finds a record that is not settled, and the key
// free, does the rest for a runner that has died over it.
#include "core/verdict.hpp"
#include "file/entry.hpp"
#include "file/entry_parts.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <utility>

namespace mortise::file {
namespace {

using Kind = Decision::Kind;
using core::Verdict;

std::shared_ptr<const mortise::Record> shared(mortise::Record record) {
  return std::make_shared<const mortise::Record>(std::move(record));
}

Decision ask_on() { return {.kind = Kind::held}; }

}  // namespace

Failure Entry::read_page(KeyPage& page) const {
  if (const int error = page.read(file_->descriptor())) return file_->failed(error, "read");
  if (page.blank() || page.ours()) return {};
  return file_->not_ours("this is not a lock file of this version; use another directory");
}

// Kind::held where the bytes are not those of the record: it was written over, or is damaged.
Decision Entry::told(const KeySlot& slot, bool with_bytes) const {
  mortise::Record record = slot.record();
  bool whole = true;
  if (with_bytes) {
    const int error = read_bytes(file_->descriptor(), slot, record.bytes, whole);
    if (error != 0) return failed(file_->failed(error, "read"));
  }
  if (!whole) return ask_on();
  return {.kind = Kind::recorded, .record = shared(std::move(record))};
}

Decision Entry::told(const Acquisition::Request& request, const KeyPage& page, std::uint64_t since,
                     bool held) const {
  const KeySlot* const newest = page.newest();
  if (newest == nullptr || page.damaged()) return ask_on();
  // As long as it is held it is remembered.
  if (!held && newest->keep_until <= wall_milliseconds()) return ask_on();
  const Verdict verdict = core::judge(*request.memory, newest->record());
  if (verdict == Verdict::mismatch) return told(*newest, false);
  if (verdict == Verdict::replay) {
    return page.settled(*newest) ? told(*newest, true) : ask_on();
  }
  // A waiter is answered by what was recorded while it waited, although the next run has begun
  // before it was awake.
  const KeySlot* const before = page.before();
  const bool news = before != nullptr && before->sequence > since && page.settled(*before);
  if (!news || core::judge(*request.memory, before->record()) != Verdict::replay) return ask_on();
  return told(*before, true);
}

// Without the lock: a read of the file, and a look whether it is still the one of its name.
Decision Entry::consult(const Acquisition::Request& request, std::uint64_t since) {
  for (int round = 0; round < patience; ++round) {
    if (!file_) {
      Failure why =
          LockFile::open_key(common_.directory, name_, LockFile::Opening::for_reading, file_);
      if (why) return failed(std::move(why));
    }
    KeyPage page;
    if (Failure why = read_page(page)) return failed(std::move(why));
    record_seen_ = page.newest() == nullptr ? 0 : page.newest()->sequence;
    Decision decision = told(request, page, since, owner_.has_value());
    if (owner_ || decision.kind == Kind::failed) return decision;
    if (decision.kind == Kind::recorded) {
      if (file_->named() != LockFile::Named::no) return decision;
      abandon();
      continue;
    }
    bool same = false;
    if (Failure why = file_->prepare(common_.directory, same)) return failed(std::move(why));
    if (same) return decision;
    abandon();
  }
  return replaced_again();
}

Decision Entry::consult_held(const Acquisition::Request& request) {
  KeyPage page;
  if (Failure why = read_page(page)) return failed(std::move(why));
  const KeySlot* const newest = page.newest();
  Decision decision = told(request, page, ~std::uint64_t{0}, true);
  if (decision.kind != Kind::held) return decision;
  decision.holder = file_->holder();
  decision.passing = newest == nullptr || newest->state != KeyState::pending;
  return decision;
}

Decision Entry::begin_run(const Acquisition::Request& request, Instant counted_from) {
  Unlocking unlock(*file_);
  KeyPage page;
  if (Failure why = read_page(page)) return failed(std::move(why));
  if (page.damaged()) {
    return failed(file_->not_ours(
        "the record of the key is damaged; check what its run did, then forget the key"));
  }
  std::optional<KeySlot> last;
  if (page.newest() != nullptr) last = *page.newest();
  Decision decision;
  if (last && last->concluded() && !page.settled(*last)) {
    std::string bytes;
    bool whole = false;
    const int error = read_bytes(file_->descriptor(), *last, bytes, whole);
    if (error != 0) return failed(file_->failed(error, "read"));
    if (whole) {
      decision = mend(request, *last, bytes);
      if (decision.kind == Kind::flushing) unlock.keep();
      return decision;
    }
    last->state = KeyState::pending;  // its runner, or the disk, did not get to the end of it
  }
  if (last && last->keep_until <= wall_milliseconds()) last.reset();
  const Verdict verdict = core::judge(*request.memory, last ? last->record() : mortise::Record{});
  if (verdict == Verdict::mismatch || verdict == Verdict::replay) {
    decision = told(*last, verdict == Verdict::replay);
    if (decision.kind != Kind::held) return decision;
    return failed(file_->not_ours(
        "the record of the key is damaged; check what its run did, then forget the key"));
  }
  decision = write_run(request, counted_from, page, last ? &*last : nullptr);
  if (decision.kind == Kind::flushing) unlock.keep();
  return decision;
}

// Written once more: a flush that failed has told that to its runner, and would tell nobody else.
Decision Entry::mend(const Acquisition::Request& request, const KeySlot& slot,
                     std::string_view bytes) {
  KeySlot again = slot;
  const int error = write_slot(file_->descriptor(), again, bytes);
  if (error != 0) return failed(file_->failed(error, "write"));
  owner_ = Own{.attempt = request.attempt,
               .grant = {},
               .settled = false,
               .sequence = slot.sequence,
               .mends = true};
  return {.kind = Kind::flushing};
}

Decision Entry::mended() {
  const int error = write_settled(file_->descriptor(), owner_->sequence);
  owner_.reset();
  file_->unlock(INT_MAX);
  if (error != 0) return failed(file_->failed(error, "write"));
  return {.kind = Kind::again};
}

Decision Entry::write_run(const Acquisition::Request& request, Instant counted_from,
                          const KeyPage& page, const KeySlot* last) {
  std::uint64_t above = page.newest() == nullptr ? 0 : page.newest()->number;
  if (page.newest() == nullptr) {
    // The key may have had a file before.
    if (Failure why = common_.floor->read(above)) return failed(std::move(why));
  }
  Grant grant{.number = 0,
              .counted_from = counted_from,
              .lease = no_lease,
              .run = last == nullptr ? 1 : last->run + 1};
  if (Failure why = file_->record_grant(request.label, grant.number, above)) {
    return failed(std::move(why));
  }
  KeySlot slot{.sequence = page.next(),
               .run = grant.run,
               .number = grant.number,
               .keep_until = wall_milliseconds() + request.memory->keep.count(),
               .attempt = request.attempt,
               .state = KeyState::pending};
  slot.set_fingerprint(request.memory->fingerprint);
  const int error = write_slot(file_->descriptor(), slot, {});
  if (error != 0) return failed(file_->failed(error, "write"));
  owner_ = Own{.attempt = request.attempt, .grant = grant, .sequence = slot.sequence};
  polite_until_ = {};
  return {.kind = Kind::flushing, .grant = grant};
}

}  // namespace mortise::file
