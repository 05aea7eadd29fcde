// SPDX-License-Identifier: MIT
// Who holds a name of the memory server, and who is next: whoever's lease has ended is out, whoever
// waits first is in, and with a reader all that wait before the next writer.
#include "base/mutant.hpp"
#include "core/figures.hpp"
#include "memory/link.hpp"
#include "memory/store.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace mortise::memory {
namespace {

// A waiter that asks each fallback period has been silent for three of them: it is dead.
constexpr std::chrono::nanoseconds silence = core::fallback_period * 3;

}  // namespace

Store::Name& Store::settled(const std::string& name, Mode mode, Instant now, Pushes& pushes) {
  Name& entry = names(mode)[name];
  expire(entry, now);
  if (mode == Mode::once && !entry.held) remembered_.expire(name, now);
  if (!entry.held) hand_over(entry, name, mode, now, pushes);
  return entry;
}

void Store::expire(Name& entry, Instant now) {
  if (entry.held && now >= entry.held->expires) entry.held.reset();
  if (entry.permits > 0 && base::mutant("memory.permit_is_lost_with_its_client")) return;
  std::erase_if(entry.sharing, [&](const Held& one) { return now >= one.expires; });
}

Store::Held* Store::held_by(Name& entry, const AttemptId& attempt) noexcept {
  if (entry.held && entry.held->grant.attempt == attempt) return &*entry.held;
  const auto found = std::find_if(entry.sharing.begin(), entry.sharing.end(),
                                  [&](const Held& one) { return one.grant.attempt == attempt; });
  return found == entry.sharing.end() ? nullptr : &*found;
}

void Store::end(Name& entry, const AttemptId& attempt) noexcept {
  if (entry.held && entry.held->grant.attempt == attempt) return entry.held.reset();
  std::erase_if(entry.sharing, [&](const Held& one) { return one.grant.attempt == attempt; });
}

bool Store::differs(Name& entry, const Acquisition::Request& request) noexcept {
  // Of a name that is idle nothing is known.
  const bool idle = entry.sharing.empty() && entry.queue.empty();
  if (idle) entry.permits = request.permits;
  return entry.permits != request.permits;
}

bool Store::excluded(const Name& entry, Mode mode) noexcept {
  if (mode == Mode::permit) {
    const auto held = std::distance(entry.sharing.begin(), entry.sharing.end());
    const std::uint32_t more = base::mutant("memory.one_permit_too_many") ? 1 : 0;
    return held >= std::ptrdiff_t{entry.permits} + more;
  }
  if (entry.held || mode == Mode::shared) return entry.held.has_value();
  return !entry.sharing.empty() && !base::mutant("memory.writer_beside_readers");
}

bool Store::may_take(const Name& entry, const Acquisition::Request& request) {
  const bool downgrades =
      request.beside && entry.held && entry.held->grant.attempt == *request.beside;
  if (downgrades) return true;
  const bool overtakes =
      request.mode == Mode::shared && base::mutant("memory.reader_overtakes_a_writer");
  if (excluded(entry, request.mode) && !base::mutant("memory.two_runners")) return false;
  return entry.queue.empty() || overtakes;
}

// Its client is gone, or has stopped asking: the next one's turn.
void Store::pass_over_the_dead(Name& entry, Instant now) {
  while (!entry.queue.empty()) {
    const Queued& first = entry.queue.front();
    if (!first.link.expired() && now - first.last_contact <= silence) return;
    entry.queue.pop_front();
  }
}

void Store::hand_over(Name& entry, const std::string& name, Mode mode, Instant now,
                      Pushes& pushes) {
  for (;;) {
    // Before it is known whether the first one could be granted the name: readers wait behind a
    // writer, and must not wait behind a dead one for as long as other readers hold the name.
    if (!entry.held) pass_over_the_dead(entry, now);
    if (entry.queue.empty() || excluded(entry, entry.queue.front().mode)) return;
    const Queued next = std::move(entry.queue.front());
    entry.queue.pop_front();
    std::shared_ptr<Link> link = next.link.lock();
    if (!link) continue;
    if (mode == Mode::once) {
      if (auto record = answer_to(*next.memory, name, entry)) {
        leave_tombstone(entry, next.attempt, now);
        pushes.push_back({.to = std::move(link),
                          .name = name,
                          .mode = mode,
                          .grant = {.attempt = next.attempt},
                          .record = std::move(record)});
        continue;
      }
    }
    const Given given = give(entry,
                             {.attempt = next.attempt,
                              .name = name,
                              .mode = next.mode,
                              .lease = next.lease,
                              .label = next.label,
                              .memory = next.memory},
                             now, core::provisional_lease(next.lease));
    pushes.push_back({.to = std::move(link),
                      .name = name,
                      .mode = next.mode,
                      .grant = given.grant,
                      .run = given.run});
  }
}

Store::Given Store::give(Name& entry, const Acquisition::Request& request, Instant now,
                         std::chrono::nanoseconds lease) {
  const auto microseconds = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count());
  last_number_ = std::max(last_number_ + 1, microseconds);
  Held held{.grant = {.attempt = request.attempt,
                      .number = last_number_,
                      .granted_at = now,
                      .lease = lease},
            .label = request.label,
            .expires = now + lease};
  if (request.mode == Mode::shared && base::mutant("memory.number_of_a_reader_runs_ahead")) {
    held.grant.number += 1'000'000;
  }
  Given given{.grant = held.grant};
  if (request.mode == Mode::shared || request.mode == Mode::permit) {
    auto last = entry.sharing.before_begin();
    while (std::next(last) != entry.sharing.end()) ++last;
    entry.sharing.insert_after(last, std::move(held));
  } else {
    entry.held = std::move(held);
  }
  if (request.mode == Mode::once) given.run = remembered_.begin(request, last_number_, now);
  return given;
}

}  // namespace mortise::memory
