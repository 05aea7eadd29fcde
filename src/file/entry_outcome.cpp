// SPDX-License-Identifier: MIT
// The end of what a key remembers: an outcome is written, or the key is forgotten. See
// entry_key.cpp for the order in which that is made safe.
#include "file/entry.hpp"
#include "file/entry_parts.hpp"

#include <chrono>
#include <climits>
#include <utility>

namespace mortise::file {
namespace {

std::shared_ptr<const mortise::Record> as_answer(mortise::Record record) {
  return std::make_shared<const mortise::Record>(std::move(record));
}

}  // namespace

// The mutex is not held while the disk is waited for: nobody but `close()` frees the key meanwhile,
// and what is written by then stands.
Released Entry::conclude(const HoldId& hold, const Conclusion& conclusion, Failure& why) {
  std::shared_ptr<LockFile> file;
  std::uint64_t sequence = 0;
  {
    const Change change(*this);
    if (!matches(hold) || !owner_->settled) return find_outcome(hold, conclusion.state, why);
    bool lost = false;
    why = write_outcome(conclusion, lost);
    if (why || lost) {
      owner_.reset();
      file_->unlock(1);
      return lost ? Released::was_lost : Released::unknown;
    }
    owner_->settled = false;
    sequence = ++owner_->sequence;
    file = file_;
  }
  why = file->flush(common_.directory);
  const Change change(*this);
  const bool lost = file->named() == LockFile::Named::no;
  const bool ours = matches(hold);
  if (ours && lost) {
    abandon();
  } else if (ours) {
    if (!why) {
      const int error = write_settled(file->descriptor(), sequence);
      if (error != 0) why = file->failed(error, "write");
    }
    owner_.reset();
    // All are told what stands now; where each is to run, one after the other will do.
    const bool each_runs = why || conclusion.memory->repeat == Repeat::always;
    if (file->unlock(each_runs ? 1 : INT_MAX) > 0) {
      polite_seen_ = file->word_after_unlock();
      polite_until_ = BootClock::now() + politeness;
    }
  }
  if (lost) return Released::was_lost;
  if (!why) return Released::released;
  why.code = Errc::in_doubt;
  return Released::unknown;
}

Failure Entry::write_outcome(const Conclusion& conclusion, bool& lost) {
  KeyPage page;
  if (Failure why = read_page(page)) return why;
  const KeySlot* const newest = page.newest();
  // Where the file was truncated, or written by another hand, this run is not known any more.
  lost = newest == nullptr || newest->sequence != owner_->sequence ||
         newest->attempt != owner_->attempt;
  if (lost) return {};
  KeySlot slot = *newest;
  ++slot.sequence;
  slot.state = conclusion.state;
  slot.keep_until = wall_milliseconds() + conclusion.memory->keep.count();
  const int error = write_slot(file_->descriptor(), slot, conclusion.bytes);
  return error == 0 ? Failure{} : file_->failed(error, "write");
}

Released Entry::find_outcome(const HoldId& hold, KeyState state, Failure& why) {
  using Opening = LockFile::Opening;
  if (!file_) why = LockFile::open_key(common_.directory, name_, Opening::if_there, file_);
  if (why) return Released::unknown;
  if (!file_) return Released::was_lost;
  KeyPage page;
  why = read_page(page);
  if (why) return Released::unknown;
  for (const KeySlot* const slot : {page.newest(), page.before()}) {
    if (slot == nullptr || slot->attempt != hold.attempt || slot->number != hold.number ||
        slot->state != state) {
      continue;
    }
    if (page.settled(*slot)) return Released::released;
    why = {Errc::in_doubt, "file " + file_->path() + ": the outcome may not be on the disk"};
    return Released::unknown;
  }
  return Released::was_lost;
}

Decision Entry::forget() {
  std::shared_ptr<LockFile> file;
  Decision decision;
  {
    const Change change(*this);
    if (closed_) return client_is_closed();
    if (retired_) return {.kind = Decision::Kind::retired};
    decision = write_absence();
    if (decision.kind != Decision::Kind::flushing) return decision;
    file = file_;
  }
  decision.kind = Decision::Kind::recorded;
  Failure why = file->flush(common_.directory);
  const Change change(*this);
  // Closed meanwhile: what is written stands.
  if (owner_ && owner_->attempt == AttemptId{}) {
    if (!why) {
      const int error = write_settled(file->descriptor(), owner_->sequence);
      if (error != 0) why = file->failed(error, "write");
    }
    owner_.reset();
    file->unlock(INT_MAX);
  }
  if (!why) return decision;
  why.code = Errc::in_doubt;
  return failed(std::move(why));
}

// Decision::Kind::flushing: written, with the record as it was. The owner is nobody then.
Decision Entry::write_absence() {
  using Opening = LockFile::Opening;
  for (int round = 0; round < patience; ++round) {
    if (!file_) {
      Failure why = LockFile::open_key(common_.directory, name_, Opening::if_there, file_);
      if (why) return failed(std::move(why));
      if (!file_) return {.kind = Decision::Kind::recorded, .record = as_answer({})};
    }
    bool same = true;
    if (Failure why = file_->prepare(common_.directory, same)) return failed(std::move(why));
    if (!same) {
      abandon();
      continue;
    }
    bool locked = false;
    if (owner_) return held_record();
    if (Failure why = file_->try_lock(locked)) return failed(std::move(why));
    const LockFile::Named named = file_->named();
    if (named == LockFile::Named::no) {
      abandon();
      continue;
    }
    if (!locked) return held_record();
    return write_absence_locked();
  }
  return replaced_again();
}

Decision Entry::held_record() const {
  KeyPage page;
  if (Failure why = read_page(page)) return failed(std::move(why));
  const KeySlot* const newest = page.newest();
  mortise::Record record = newest == nullptr ? mortise::Record{} : newest->record();
  record.held = true;
  if (newest != nullptr && newest->concluded()) record.state = KeyState::pending;
  return {.kind = Decision::Kind::held,
          .record = as_answer(std::move(record)),
          .passing = newest == nullptr || newest->state != KeyState::pending};
}

Decision Entry::write_absence_locked() {
  Unlocking unlock(*file_);
  KeyPage page;
  if (Failure why = read_page(page)) return failed(std::move(why));
  const KeySlot* const newest = page.newest();
  const bool known = newest != nullptr && newest->state != KeyState::absent &&
                     newest->keep_until > wall_milliseconds();
  Decision decision{.kind = Decision::Kind::recorded, .record = as_answer({})};
  if (known) {
    // Bytes that are damaged are not worth keeping a key for that somebody wants forgotten.
    Decision found = told(*newest, true);
    decision.record = found.record ? found.record : as_answer(newest->record());
  }
  if (!known && !page.damaged()) return decision;
  KeySlot slot{.sequence = page.next()};
  if (newest != nullptr) slot.number = newest->number;
  const int error = write_slot(file_->descriptor(), slot, {});
  if (error != 0) return failed(file_->failed(error, "write"));
  owner_ = Own{.attempt = {}, .grant = {}, .settled = false, .sequence = slot.sequence};
  decision.kind = Decision::Kind::flushing;
  unlock.keep();
  return decision;
}

}  // namespace mortise::file
