// SPDX-License-Identifier: MIT
// Dead waiters are skipped before the server asks whether the first waiter may have the name.
#include "memory/name.hpp"

#include "base/mutant.hpp"
#include "core/figures.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace mortise::memory {
namespace {

// A waiter that asks each fallback period has been silent for three of them: it is dead.
constexpr std::chrono::nanoseconds silence = core::fallback_period * 3;
// A message is not older than this when it arrives; longer than any simulated delay and time-out.
constexpr std::chrono::seconds tombstone_time{60};

}  // namespace

void Name::expire(Instant now) {
  if (held && now >= held->expires) held.reset();
  if (permits > 0 && base::mutant("memory.permit_is_lost_with_its_client")) return;
  std::erase_if(sharing, [&](const Held& one) { return now >= one.expires; });
}

Name::Held* Name::held_by(const AttemptId& attempt) noexcept {
  if (held && held->grant.attempt == attempt) return &*held;
  const auto found = std::find_if(sharing.begin(), sharing.end(),
                                  [&](const Held& one) { return one.grant.attempt == attempt; });
  return found == sharing.end() ? nullptr : &*found;
}

void Name::end(const AttemptId& attempt) noexcept {
  if (held && held->grant.attempt == attempt) return held.reset();
  std::erase_if(sharing, [&](const Held& one) { return one.grant.attempt == attempt; });
}

void Name::hold(Held granted, Mode mode) {
  if (mode != Mode::shared && mode != Mode::permit) {
    held = std::move(granted);
    return;
  }
  auto last = sharing.before_begin();
  while (std::next(last) != sharing.end()) ++last;
  sharing.insert_after(last, std::move(granted));
}

std::optional<Holder> Name::holder(Instant now) const {
  if (!held && sharing.empty()) return std::nullopt;
  const Held& oldest = held ? *held : sharing.front();
  return Holder{
      .label = oldest.label,
      .token = Token(oldest.grant.number * core::tokens_in_a_grant),
      .expires_in = std::chrono::duration_cast<std::chrono::milliseconds>(oldest.expires - now),
      .waiters = queue.size(),
      .mode = held           ? Mode::exclusive
              : permits == 0 ? Mode::shared
                             : Mode::permit};
}

bool Name::has_permits(std::uint32_t asked) noexcept {
  if (sharing.empty() && queue.empty()) permits = asked;
  return permits == asked;
}

bool Name::excludes(Mode mode) const noexcept {
  if (mode == Mode::permit) {
    const auto taken = std::distance(sharing.begin(), sharing.end());
    const std::uint32_t more = base::mutant("memory.one_permit_too_many") ? 1 : 0;
    return taken >= std::ptrdiff_t{permits} + more;
  }
  if (held || mode == Mode::shared) return held.has_value();
  return !sharing.empty() && !base::mutant("memory.writer_beside_readers");
}

bool Name::may_take(const Acquisition::Request& request) const {
  const bool downgrades = request.beside && held && held->grant.attempt == *request.beside;
  if (downgrades) return true;
  const bool overtakes =
      request.mode == Mode::shared && base::mutant("memory.reader_overtakes_a_writer");
  if (excludes(request.mode) && !base::mutant("memory.two_runners")) return false;
  return queue.empty() || overtakes;
}

Name::Waiter* Name::waiter(const AttemptId& attempt) noexcept {
  const auto found = std::find_if(queue.begin(), queue.end(), [&](const Waiter& each) {
    return each.request.attempt == attempt;
  });
  return found == queue.end() ? nullptr : &*found;
}

void Name::leave(const AttemptId& attempt) noexcept {
  std::erase_if(queue, [&](const Waiter& each) { return each.request.attempt == attempt; });
}

std::optional<Name::Waiter> Name::next(Instant now) {
  // Readers wait behind a writer. They must not wait behind a dead writer for as long as other
  // readers hold the name.
  const auto is_dead = [&](const Waiter& each) {
    return each.link.expired() || now - each.last_contact > silence;
  };
  while (!held && !queue.empty() && is_dead(queue.front())) queue.pop_front();
  if (queue.empty() || excludes(queue.front().request.mode)) return std::nullopt;
  std::optional<Waiter> first(std::move(queue.front()));
  queue.pop_front();
  return first;
}

void Name::leave_tombstone(const AttemptId& attempt, Instant now) {
  tombstones.remove_if([now](const auto& tombstone) { return tombstone.second < now; });
  tombstones.emplace_front(attempt, now + tombstone_time);
}

bool Name::has_tombstone(const AttemptId& attempt) const noexcept {
  return std::any_of(tombstones.begin(), tombstones.end(),
                     [&](const auto& tombstone) { return tombstone.first == attempt; });
}

}  // namespace mortise::memory
