// SPDX-License-Identifier: MIT
// Permits: each is a byte of the semaphore's file, which its holder has locked. How many there are
// is written there, and stands as long as anybody holds one or waits: that the kernel knows.
#include "file/entry.hpp"
#include "file/entry_drawing.hpp"
#include "file/entry_parts.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace mortise::file {
namespace {

using Kind = Decision::Kind;

}  // namespace

Decision Entry::try_for_permit(const Acquisition& operation, Instant counted_from, Nap& nap) {
  // Memory first: nothing may fail between taking the lock and noting whose it is.
  if (sharing_.size() == sharing_.capacity()) sharing_.reserve(2 * sharing_.size() + 1);
  for (int round = 0; round < patience; ++round) {
    bool open = false;
    if (Failure why = open_if_closed(open)) return failed(std::move(why));
    if (!open) continue;
    Decision decision = permit_once(operation, counted_from, nap);
    if (decision.kind == Kind::retired) {
      abandon();
      continue;
    }
    if (decision.kind != Kind::held) return decision;
    nap.sleepers = file_->sleepers();
    // Whoever draws a number wakes nobody when it has it.
    if (decision.passing) nap.polite_until = BootClock::now() + drawing_pause;
    decision.holder = file_->holder();
    return decision;
  }
  return replaced_again();
}

// Kind::retired: the file is not the one of its name any more.
Decision Entry::permit_once(const Acquisition& operation, Instant counted_from, Nap& nap) {
  const Acquisition::Request& request = operation.request();
  Drawing drawing(file_);
  std::optional<std::uint32_t> place;
  Failure why;
  // With the first place, which is next to it, in one call where nobody has either.
  if (!has_place(0)) why = drawing.try_with(permit_byte(0));
  if (!why && drawing.locked()) {
    place = 0;
  } else if (!why) {
    why = drawing.begin();
  }
  if (why) return failed(std::move(why));
  bool again = false;
  auto refused = refuse_replaced(again);
  if (again) return {.kind = Kind::retired};
  if (refused || !drawing.locked()) nap.seen = file_->word();
  if (refused) return std::move(*refused);
  if (!drawing.locked()) return {.kind = Kind::held, .passing = true};
  Header header;
  why = file_->read(header);
  // Of before the look at the places: a release after that has changed it.
  nap.seen = header.word;
  if (!why) why = check_permits(operation, header);
  if (!why && !place) why = take_place(request.permits, place);
  if (why) return failed(std::move(why));
  if (!place) return {.kind = Kind::held};
  Grant grant{.number = 0, .counted_from = counted_from, .lease = no_lease};
  if ((why = file_->record_grant(header, request.label, grant.number))) {
    file_->unlock(permit_byte(*place));
    return failed(std::move(why));
  }
  drawing.keep();
  sharing_.push_back(
      {.attempt = request.attempt, .grant = grant, .settled = !common_.flush, .place = *place});
  polite_until_ = {};
  return {.kind = common_.flush ? Kind::flushing : Kind::granted, .grant = grant};
}

bool Entry::has_place(std::uint32_t place) const noexcept {
  return std::any_of(sharing_.begin(), sharing_.end(),
                     [&](const Own& own) { return own.place == place; });
}

Failure Entry::check_permits(const Acquisition& operation, const Header& header) {
  const Acquisition::Request& request = operation.request();
  const std::uint32_t known = header.turns.permits;
  if (known == request.permits) return {};
  const auto another = [&](const Waiter& waiter) { return waiter.operation.get() != &operation; };
  bool used = !sharing_.empty() || std::any_of(waiters_.begin(), waiters_.end(), another);
  for (const ByteRange bytes : {permit_bytes, waiting_byte}) {
    Conflict others;
    if (used) break;
    if (Failure why = file_->conflict(bytes, ByteLock::exclusive, others)) return why;
    used = others.there;
  }
  // 0: nobody has written it, or somebody has truncated the file.
  if (!used || known == 0) return file_->record_permits(header, request.permits);
  return {Errc::misconfigured, request.name + ": the store has " + std::to_string(known) +
                                   " permits, but this client asks for " +
                                   std::to_string(request.permits) +
                                   "; use one number in all clients"};
}

// Whoever draws is alone in taking one.
Failure Entry::take_place(std::uint32_t permits, std::optional<std::uint32_t>& place) const {
  // The kernel does not tell a description of its own locks.
  std::vector<bool> ours(permits, false);
  for (const Own& own : sharing_) {
    if (own.place < permits) ours[own.place] = true;
  }
  for (std::uint32_t at = 0; at < permits; ++at) {
    if (ours[at]) continue;
    Conflict other;
    Failure why = file_->conflict(permit_byte(at), ByteLock::exclusive, other);
    bool locked = false;
    if (!why && !other.there) why = file_->try_lock(permit_byte(at), locked);
    if (why) return why;
    if (locked) {
      place = at;
      return {};
    }
    // A lock may be of many permits that one client has side by side.
    const off_t last = std::min<off_t>(other.end - permit_bytes.start, permits) - 1;
    at = std::max(at, static_cast<std::uint32_t>(std::max<off_t>(last, 0)));
  }
  return {};
}

}  // namespace mortise::file
