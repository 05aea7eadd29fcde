// SPDX-License-Identifier: MIT
// The request of one round of an attempt to every server, and the end of a hold. Both are
// operations of this backend, which the exchange of each server sends.
#pragma once

#include <mortise/operation.hpp>

#include "redlock/quorum.hpp"
#include "redlock/requests.hpp"
#include "redlock/roll.hpp"
#include "remote/timer.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

namespace mortise::redlock {

struct QuorumAttempt;

/// Counts a request among those whose answers a caller waits for.
class Awaited {
 public:
  Awaited() = default;
  Awaited(const Awaited&) = delete;
  Awaited& operator=(const Awaited&) = delete;
  ~Awaited() { end(); }
  void begin(std::atomic<int>& count) noexcept {
    if (count_ == nullptr) (count_ = &count)->fetch_add(1);
  }
  void end() noexcept {
    if (count_ != nullptr) std::exchange(count_, nullptr)->fetch_sub(1);
  }

 private:
  std::atomic<int>* count_ = nullptr;
};

/// Each round has a ballot of its own, because a server compares the steps: the undoing of an
/// earlier round frees no vote of a later one. So each ballot has its own course at each server. It
/// is done when the client no longer wants its votes.
struct Ballot final : Acquisition {
  /// @param now when its round begins
  Ballot(std::shared_ptr<Acquisition> operation, std::uint32_t of_step, Instant now)
      : Acquisition(request_of(operation->request(), of_step)),
        wanted(std::move(operation)),
        step(of_step),
        begun(now) {}

  /// @return the id by which the courses of the servers know it. All attempts of a client have the
  /// same `client_high`.
  [[nodiscard]] static AttemptId id_of(AttemptId id, std::uint32_t of_step) noexcept {
    id.client_high += of_step;
    return id;
  }
  [[nodiscard]] const AttemptId& id() const noexcept { return request().attempt; }
  /// @return what the library asked for.
  [[nodiscard]] const Request& attempted() const noexcept { return wanted->request(); }
  /// @return true if a server may be asked for its vote: for the attempt, or for a hold that stands
  [[nodiscard]] bool may_be_asked(const Clock& clock) const noexcept {
    if (done() || !wanted->done()) return !done();
    return number.load() != 0 && clock.now() < until.get();
  }
  /// Its hold was renewed. A late answer never shortens it.
  void extend(Instant end, std::chrono::nanoseconds for_time) noexcept {
    lease.store(for_time.count());
    if (end > until.get()) static_cast<void>(until.set(end));
  }
  /// The client no longer wants its votes.
  void end() { busy(std::nullopt); }

  const std::shared_ptr<Acquisition> wanted;
  const std::uint32_t step;
  const Instant begun;
  std::weak_ptr<QuorumAttempt> attempt{};
  std::uint64_t proposal = 0;
  Manners::StepsBack steps_back = Manners::StepsBack::for_readers;
  std::atomic<std::uint64_t> settled{0};  ///< the number that the votes are settled on
  std::atomic<std::uint64_t> number{0};   ///< of the hold that it won
  remote::Moment until{};                 ///< the end of that hold
  std::atomic<std::chrono::nanoseconds::rep> lease{attempted().lease.count()};  ///< of the hold
  std::atomic<bool> leaves{false};  ///< the attempt wants no more hints

 private:
  [[nodiscard]] static Request request_of(const Request& of_library, std::uint32_t of_step) {
    Request its;
    its.attempt = id_of(of_library.attempt, of_step);
    its.mode = of_library.mode;
    its.lease = of_library.lease;
    return its;
  }
};

/// The end of a hold, as the exchange of each server repeats it until it is answered.
struct Ending final : Release {
  /// The votes that it takes back, and how.
  struct Terms {
    AttemptId attempt{};
    std::uint32_t step = last_step;  ///< up to which
    bool exactly = false;            ///< only of the hold with exactly that number
    Instant since{};                 ///< a server that was met later may be a voter, restarted
    Instant until{};                 ///< when the hold ends by itself; long ago = not known
  };
  Ending(std::shared_ptr<Release> wanted, const Terms& its)
      : Release(hold_of(*wanted, its)), release(std::move(wanted)), terms(its) {}
  [[nodiscard]] bool is_by_force() const noexcept { return release->found() != nullptr; }
  /// @return true if the hold has ended by itself. Its exchanges give it up then.
  bool expire(Instant now) {
    const bool known = terms.until != Instant{};
    if (now < (known ? terms.until : terms.since) + (known ? memory : memory_without_end)) {
      return false;
    }
    answered(Released::unknown);
    return true;
  }

  /// Clocks of servers may be behind.
  static constexpr std::chrono::minutes memory{2};
  static constexpr std::chrono::hours memory_without_end{1};

  const std::shared_ptr<Release> release;
  const Terms terms;
  std::mutex mutex{};
  Awaited awaited{};     // under the mutex, as what follows
  bool is_told = false;  ///< the exchange of each server that it concerns has it
  Tally tally{};
  Roll roll{};          // connections that came up since count: an exchange sends it on those
  NodeSet refused = 0;  ///< servers that answered with an error

 private:
  /// The client may force its own hold, so a release by force has courses of its own.
  [[nodiscard]] static HoldId hold_of(const Release& wanted, const Terms& terms) {
    HoldId hold = wanted.hold();
    const std::uint32_t beyond = wanted.found() != nullptr ? last_step : 0;
    hold.attempt = Ballot::id_of(terms.attempt, beyond + terms.step);
    hold.number = std::max<std::uint64_t>(hold.number, 1);
    return hold;
  }
};

}  // namespace mortise::redlock
