// SPDX-License-Identifier: MIT
// One client at a time draws a number, and it alone takes a free byte.
#include "file/permits.hpp"

#include "file/drawing.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace mortise::file {
namespace {

using Kind = Decision::Kind;

/// Unlocks the byte of a permit in its destructor, unless the grant was recorded.
class TakenByte {
 public:
  TakenByte(const LockFile& file, const std::optional<std::uint32_t>& place) noexcept
      : file_(file), place_(place) {}
  TakenByte(const TakenByte&) = delete;
  TakenByte& operator=(const TakenByte&) = delete;
  ~TakenByte() {
    if (place_ && !kept_) file_.unlock(permit_byte(*place_));
  }
  void keep() noexcept { kept_ = true; }

 private:
  const LockFile& file_;
  const std::optional<std::uint32_t>& place_;
  bool kept_ = false;
};

}  // namespace

Decision Permits::try_for(const Acquisition& operation, Instant counted_from, Nap& nap) {
  // Memory first: nothing may fail between taking the lock and noting whose it is.
  std::vector<Hold>& ours = held_.sharing;
  if (ours.size() == ours.capacity()) ours.reserve(2 * ours.size() + 1);
  return held_.try_with_file([&] {
    Decision decision = try_once(operation, counted_from, nap);
    if (decision.kind != Kind::held) return decision;
    nap.sleepers = held_.file->sleepers();
    // A client that draws a number wakes no waiter when it has it.
    if (decision.passing) nap.polite_until = BootClock::now() + drawing_pause;
    decision.holder = held_.file->holder();
    return decision;
  });
}

Decision Permits::try_once(const Acquisition& operation, Instant counted_from, Nap& nap) {
  const Acquisition::Request& request = operation.request();
  LockFile& file = *held_.file;
  Drawing drawing(held_.file);
  std::optional<std::uint32_t> place;
  TakenByte taken(file, place);
  Failure why;
  // With the first place, which is next to it, in one call if no client has either.
  if (!has_place(0)) why = drawing.try_with(permit_byte(0));
  if (!why && drawing.locked()) {
    place = 0;
  } else if (!why) {
    why = drawing.begin();
  }
  if (why) return failed(std::move(why));
  auto refused = held_.refuse_replaced();
  if (refused || !drawing.locked()) nap.seen = file.word();
  if (refused) return std::move(*refused);
  if (!drawing.locked()) return {.kind = Kind::held, .passing = true};
  Header header;
  why = file.grants().read(header);
  // Of before the look at the places: a release after that has changed it.
  nap.seen = header.word;
  if (!why) why = check_number(operation, header);
  if (!why && !place) why = take_place(request.permits, place);
  if (why) return failed(std::move(why));
  if (!place) return {.kind = Kind::held};
  Grant grant{.number = 0, .counted_from = counted_from, .lease = no_lease};
  why = file.grants().record(header, request.label, grant.number);
  if (why) return failed(std::move(why));
  taken.keep();
  drawing.keep();
  return held_.note({.attempt = request.attempt, .grant = grant, .place = *place}, Mode::permit);
}

bool Permits::has_place(std::uint32_t place) const noexcept {
  return std::any_of(held_.sharing.begin(), held_.sharing.end(),
                     [&](const Hold& hold) { return hold.place == place; });
}

Failure Permits::check_number(const Acquisition& operation, const Header& header) {
  const Acquisition::Request& request = operation.request();
  LockFile& file = *held_.file;
  const std::uint32_t known = header.turns.permits;
  if (known == request.permits) return {};
  bool used = !held_.sharing.empty() || held_.waiters.has_others(operation);
  for (const ByteRange bytes : {permit_bytes, waiting_byte}) {
    Conflict others;
    if (used) break;
    if (Failure why = file.conflict(bytes, ByteLock::exclusive, others)) return why;
    used = others.there;
  }
  // 0: no client has written it, or another program has truncated the file.
  if (!used || known == 0) return file.grants().record_permits(header, request.permits);
  return {Errc::misconfigured, request.name + ": the store has " + std::to_string(known) +
                                   " permits, but this client asks for " +
                                   std::to_string(request.permits) +
                                   "; use one number in all clients"};
}

Failure Permits::take_place(std::uint32_t permits, std::optional<std::uint32_t>& place) const {
  // The kernel does not tell a description of its own locks.
  std::vector<bool> ours(permits, false);
  for (const Hold& hold : held_.sharing) {
    if (hold.place < permits) ours[hold.place] = true;
  }
  const LockFile& file = *held_.file;
  for (std::uint32_t at = 0; at < permits; ++at) {
    if (ours[at]) continue;
    Conflict other;
    Failure why = file.conflict(permit_byte(at), ByteLock::exclusive, other);
    bool locked = false;
    if (!why && !other.there) why = file.try_lock(permit_byte(at), locked);
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
