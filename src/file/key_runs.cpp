// SPDX-License-Identifier: MIT
// The record is read again under the lock: what it said before may be over.
#include "file/key_runs.hpp"

#include "core/verdict.hpp"

#include <climits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace mortise::file {
namespace {

using Kind = Decision::Kind;
using core::Verdict;

Decision ask_on() { return {.kind = Kind::held}; }

}  // namespace

Decision answer_of(const LockFile& file, const KeySlot& slot, bool with_bytes) {
  mortise::Record record = slot.record();
  bool whole = true;
  if (with_bytes) {
    const int error = read_bytes(file.descriptor(), slot, record.bytes, whole);
    if (error != 0) return failed(file.failed(error, "read"));
  }
  if (!whole) return ask_on();
  return {.kind = Kind::recorded,
          .record = std::make_shared<const mortise::Record>(std::move(record))};
}

Decision KeyRuns::answer(const Acquisition::Request& request, const KeyPage& page,
                         std::uint64_t since, bool held) const {
  const KeySlot* const newest = page.newest();
  if (newest == nullptr || page.damaged()) return ask_on();
  // As long as it is held it is remembered.
  if (!held && newest->keep_until <= wall_milliseconds()) return ask_on();
  const Verdict verdict = core::judge(*request.memory, newest->record());
  if (verdict == Verdict::mismatch) return answer_of(*held_.file, *newest, false);
  if (verdict == Verdict::replay) {
    return page.settled(*newest) ? answer_of(*held_.file, *newest, true) : ask_on();
  }
  // A waiter is answered by what was recorded while it waited, although the next run has begun
  // before it was awake.
  const KeySlot* const before = page.before();
  const bool news = before != nullptr && before->sequence > since && page.settled(*before);
  if (!news || core::judge(*request.memory, before->record()) != Verdict::replay) return ask_on();
  return answer_of(*held_.file, *before, true);
}

Decision KeyRuns::consult(const Acquisition::Request& request, std::uint64_t since) {
  return held_.try_with_file([&]() -> Decision {
    KeyPage page;
    if (Failure why = page.read(*held_.file)) return failed(std::move(why));
    last_seen_ = page.newest() == nullptr ? 0 : page.newest()->sequence;
    Decision decision = answer(request, page, since, held_.owner.has_value());
    if (held_.owner || decision.kind == Kind::failed) return decision;
    if (decision.kind == Kind::recorded) {
      if (held_.file->named() == LockFile::Named::no) decision = {.kind = Kind::replaced};
      return decision;
    }
    if (auto refused = held_.prepare()) return std::move(*refused);
    return decision;
  });
}

Decision KeyRuns::try_for(const Acquisition::Request& request, Instant counted_from, Nap& nap) {
  if (held_.is_held()) return held_.held_here(nap);
  return held_.try_with_file([&]() -> Decision {
    if (auto refused = held_.prepare()) return std::move(*refused);
    Decision decision = held_.lock(nap);
    if (decision.kind == Kind::held) return consult_held(request);
    return decision.kind == Kind::granted ? begin(request, counted_from) : decision;
  });
}

Decision KeyRuns::consult_held(const Acquisition::Request& request) const {
  KeyPage page;
  if (Failure why = page.read(*held_.file)) return failed(std::move(why));
  const KeySlot* const newest = page.newest();
  Decision decision = answer(request, page, ~std::uint64_t{0}, true);
  if (decision.kind != Kind::held) return decision;
  decision.holder = held_.file->holder();
  decision.passing = newest == nullptr || newest->state != KeyState::pending;
  return decision;
}

Decision KeyRuns::begin(const Acquisition::Request& request, Instant counted_from) {
  const LockFile& file = *held_.file;
  Unlocking unlock(file);
  KeyPage page;
  if (Failure why = page.read(file)) return failed(std::move(why));
  if (page.damaged()) return damaged();
  std::optional<KeySlot> last;
  if (page.newest() != nullptr) last = *page.newest();
  Decision decision;
  if (last && last->concluded() && !page.settled(*last)) {
    std::string bytes;
    bool whole = false;
    const int error = read_bytes(file.descriptor(), *last, bytes, whole);
    if (error != 0) return failed(file.failed(error, "read"));
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
    decision = answer_of(file, *last, verdict == Verdict::replay);
    return decision.kind != Kind::held ? decision : damaged();
  }
  decision = write(request, counted_from, page, last ? &*last : nullptr);
  if (decision.kind == Kind::flushing) unlock.keep();
  return decision;
}

Decision KeyRuns::damaged() const {
  return failed(held_.file->not_ours(
      "the record of the key is damaged; check what its run did, then forget the key"));
}

// Written once more: the runner learned of a flush that failed, and no other caller would.
Decision KeyRuns::mend(const Acquisition::Request& request, const KeySlot& slot,
                       std::string_view bytes) {
  KeySlot again = slot;
  const int error = write_slot(held_.file->descriptor(), again, bytes);
  if (error != 0) return failed(held_.file->failed(error, "write"));
  held_.owner = Hold{.attempt = request.attempt,
                     .grant = {},
                     .settled = false,
                     .sequence = slot.sequence,
                     .mends = true};
  return {.kind = Kind::flushing};
}

Decision KeyRuns::mended() {
  const int error = write_settled(held_.file->descriptor(), held_.owner->sequence);
  held_.owner.reset();
  held_.file->unlock(INT_MAX);
  if (error != 0) return failed(held_.file->failed(error, "write"));
  return {.kind = Kind::again};
}

Decision KeyRuns::write(const Acquisition::Request& request, Instant counted_from,
                        const KeyPage& page, const KeySlot* last) {
  std::uint64_t above = page.newest() == nullptr ? 0 : page.newest()->number;
  if (page.newest() == nullptr) {
    // The key may have had a file before.
    if (Failure why = held_.common.floor->read(above)) return failed(std::move(why));
  }
  Grant grant{.number = 0,
              .counted_from = counted_from,
              .lease = no_lease,
              .run = last == nullptr ? 1 : last->run + 1};
  if (Failure why = held_.file->grants().record(request.label, grant.number, above)) {
    return failed(std::move(why));
  }
  KeySlot slot{.sequence = page.next(),
               .run = grant.run,
               .number = grant.number,
               .keep_until = wall_milliseconds() + request.memory->keep.count(),
               .attempt = request.attempt,
               .state = KeyState::pending};
  slot.set_fingerprint(request.memory->fingerprint);
  const int error = write_slot(held_.file->descriptor(), slot, {});
  if (error != 0) return failed(held_.file->failed(error, "write"));
  return held_.note({.attempt = request.attempt, .grant = grant, .sequence = slot.sequence},
                    Mode::once);
}

}  // namespace mortise::file
