// SPDX-License-Identifier: MIT
// A runner whose reply was lost says again what became of its run: the record answers it.
#include "file/key_outcomes.hpp"

#include "file/key_runs.hpp"

#include <climits>
#include <memory>
#include <utility>

namespace mortise::file {
namespace {

using Kind = Decision::Kind;
using Missing = LockFile::Missing;

std::shared_ptr<const mortise::Record> as_answer(mortise::Record record) {
  return std::make_shared<const mortise::Record>(std::move(record));
}

}  // namespace

std::optional<Released> KeyOutcomes::write(const HoldId& hold, const Conclusion& conclusion,
                                           Failure& why) {
  if (!held_.has(hold) || !held_.owner->settled) return find_outcome(hold, conclusion.state, why);
  bool lost = false;
  why = write_outcome(conclusion, lost);
  if (why || lost) {
    held_.owner.reset();
    held_.file->unlock(1);
    return lost ? Released::was_lost : Released::unknown;
  }
  held_.owner->settled = false;
  ++held_.owner->sequence;
  return std::nullopt;
}

Released KeyOutcomes::settle(const HoldId& hold, const Conclusion& conclusion,
                             const LockFile& flushed, Failure& why) {
  const bool lost = flushed.named() == LockFile::Named::no;
  const bool ours = held_.has(hold);
  if (ours && lost) {
    held_.abandon();
  } else if (ours) {
    note_settled(flushed, why);
    held_.owner.reset();
    // All waiters get what stands now; if each is to run, one after the other will do.
    const bool each_runs = why || conclusion.memory->repeat == Repeat::always;
    if (flushed.unlock(each_runs ? 1 : INT_MAX) > 0) {
      held_.politeness.begin(flushed.word_after_unlock());
    }
  }
  if (lost) return Released::was_lost;
  if (!why) return Released::released;
  why.code = Errc::in_doubt;
  return Released::unknown;
}

void KeyOutcomes::note_settled(const LockFile& flushed, Failure& why) const {
  if (why) return;
  const int error = write_settled(flushed.descriptor(), held_.owner->sequence);
  if (error != 0) why = flushed.failed(error, "write");
}

Failure KeyOutcomes::write_outcome(const Conclusion& conclusion, bool& lost) {
  KeyPage page;
  if (Failure why = page.read(*held_.file)) return why;
  const KeySlot* const newest = page.newest();
  // If the file was truncated, or written by another program, this run is not known any more.
  lost = newest == nullptr || newest->sequence != held_.owner->sequence ||
         newest->attempt != held_.owner->attempt;
  if (lost) return {};
  KeySlot slot = *newest;
  ++slot.sequence;
  slot.state = conclusion.state;
  slot.keep_until = wall_milliseconds() + conclusion.memory->keep.count();
  const int error = write_slot(held_.file->descriptor(), slot, conclusion.bytes);
  return error == 0 ? Failure{} : held_.file->failed(error, "write");
}

Released KeyOutcomes::find_outcome(const HoldId& hold, KeyState state, Failure& why) {
  why = held_.open(Missing::leave);
  if (why) return Released::unknown;
  if (!held_.file) return Released::was_lost;
  KeyPage page;
  why = page.read(*held_.file);
  if (why) return Released::unknown;
  for (const KeySlot* const slot : {page.newest(), page.before()}) {
    if (slot == nullptr || slot->attempt != hold.attempt || slot->number != hold.number ||
        slot->state != state) {
      continue;
    }
    if (page.settled(*slot)) return Released::released;
    why = {Errc::in_doubt, "file " + held_.file->path() + ": the outcome may not be on the disk"};
    return Released::unknown;
  }
  return Released::was_lost;
}

Decision KeyOutcomes::write_absence() {
  Decision decision = held_.try_with_file(
      [&]() -> Decision {
        if (auto refused = held_.prepare()) return std::move(*refused);
        if (held_.owner) return held_record();
        bool locked = false;
        if (Failure why = held_.file->try_lock(locked)) return failed(std::move(why));
        if (held_.file->named() == LockFile::Named::no) return {.kind = Kind::replaced};
        return locked ? write_absence_locked() : held_record();
      },
      Missing::leave);
  if (decision.kind == Kind::ignored) {
    decision = {.kind = Kind::recorded, .record = as_answer({})};
  }
  return decision;
}

Decision KeyOutcomes::held_record() const {
  KeyPage page;
  if (Failure why = page.read(*held_.file)) return failed(std::move(why));
  const KeySlot* const newest = page.newest();
  mortise::Record record = newest == nullptr ? mortise::Record{} : newest->record();
  record.held = true;
  if (newest != nullptr && newest->concluded()) record.state = KeyState::pending;
  return {.kind = Kind::held,
          .record = as_answer(std::move(record)),
          .passing = newest == nullptr || newest->state != KeyState::pending};
}

Decision KeyOutcomes::write_absence_locked() {
  const LockFile& file = *held_.file;
  Unlocking unlock(file);
  KeyPage page;
  if (Failure why = page.read(file)) return failed(std::move(why));
  const KeySlot* const newest = page.newest();
  const bool known = newest != nullptr && newest->state != KeyState::absent &&
                     newest->keep_until > wall_milliseconds();
  Decision decision{.kind = Kind::recorded, .record = as_answer({})};
  if (known) {
    // Damaged bytes are not worth keeping a key for that a caller wants forgotten.
    Decision found = answer_of(file, *newest, true);
    decision.record = found.record ? found.record : as_answer(newest->record());
  }
  if (!known && !page.damaged()) return decision;
  KeySlot slot{.sequence = page.next()};
  if (newest != nullptr) slot.number = newest->number;
  const int error = write_slot(file.descriptor(), slot, {});
  if (error != 0) return failed(file.failed(error, "write"));
  held_.owner = Hold{.attempt = {}, .grant = {}, .settled = false, .sequence = slot.sequence};
  decision.kind = Kind::flushing;
  unlock.keep();
  return decision;
}

void KeyOutcomes::settle_absence(const LockFile& flushed, Failure& why) {
  // Closed in the meantime: what is written stands.
  if (held_.owner && held_.owner->attempt == AttemptId{}) {
    note_settled(flushed, why);
    held_.owner.reset();
    flushed.unlock(INT_MAX);
  }
  if (why) why.code = Errc::in_doubt;
}

}  // namespace mortise::file
