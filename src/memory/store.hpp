// SPDX-License-Identifier: MIT
// The server of the memory backend: names, holders, queues, grant numbers, and what is remembered
// of keys. Every request settles the name first (whoever's lease has ended is out, whoever waits
// first is in), as a server script would.
#pragma once

#include <mortise/listing.hpp>
#include <mortise/listing_operation.hpp>
#include <mortise/memory.hpp>
#include <mortise/operation.hpp>

#include "base/random_id.hpp"
#include "memory/remembered.hpp"

#include <atomic>
#include <forward_list>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mortise::memory {

class Link;

/// A grant of a name as the server words it: in its own time, which the client must translate.
struct ServerGrant {
  AttemptId attempt{};
  std::uint64_t number = 0;
  Instant granted_at{};
  std::chrono::nanoseconds lease{};
};

/// The answer to a request.
struct Answer {
  Instant server_time{};
  std::optional<ServerGrant> grant{};      ///< the attempt owns the name
  std::uint64_t run = 0;                   ///< of a key: the number of its run
  std::shared_ptr<const Record> record{};  ///< of a key: it is told this instead
  bool refused = false;                    ///< the attempt was taken back before: it never will
  std::uint32_t permits = 0;       ///< refused, since the name has so many, and not as asked
  std::optional<Holder> holder{};  ///< who holds it otherwise
};

/// What a waiter is told unasked: that it was granted the name, or what is remembered of the key.
struct Push {
  std::shared_ptr<Link> to;
  std::string name;
  Mode mode = Mode::exclusive;
  ServerGrant grant{};  ///< with a record: the attempt alone
  std::uint64_t run = 0;
  std::shared_ptr<const Record> record{};
};

/// @thread_safety every member may be called concurrently. Pushes are sent outside the mutex.
class Store : public std::enable_shared_from_this<Store> {
 public:
  explicit Store(std::shared_ptr<Clock> clock) : clock_(std::move(clock)) {}

  Answer acquire(const Acquisition::Request& request, const std::shared_ptr<Link>& from);
  Answer cancel(const Acquisition::Request& request);
  enum class Ends : std::uint8_t {
    attempt,   ///< also what a copy of its request took since then
    grant,     ///< its attempt is over, but may hold by another one
    by_force,  ///< that grant alone: its client may not know of it, and ask again
  };
  /// @param conclusion what is written about a key where that very hold stands; may be null
  Released release(const HoldId& hold, Ends ends = Ends::attempt,
                   const Conclusion* conclusion = nullptr);
  struct Renewed {
    bool stands = false;  ///< then its lease begins anew
    bool wanted = false;  ///< somebody waits whom it keeps out
  };
  Renewed renew(const HoldId& hold, std::chrono::nanoseconds lease);
  std::optional<Holder> inspect(const std::string& name);
  /// @return what is remembered of the key; forgotten then, where that is wanted and nobody runs
  /// it.
  std::shared_ptr<const Record> recall(const std::string& key, Recollection::Kind kind);

  /// What administrators ask: store_listing.cpp. Two pages have no name in common.
  NamePage list(const Listing& asked);
  /// @param marks receives one for each holder
  NameQueue queue(const QueueLook& asked, std::vector<HoldMark>& marks);

  /// What the network does to one message: its delay, or nothing if it is lost.
  enum class Message : std::uint8_t { request, reply, push };
  std::optional<std::chrono::nanoseconds> send(Message kind);

  void set_faults(const Faults& faults);
  void set_reachable(bool reachable);
  [[nodiscard]] bool reachable() const noexcept { return reachable_.load(); }
  void restart();
  void drop(std::string_view name, Mode mode);
  [[nodiscard]] std::uint64_t requests() const;
  [[nodiscard]] std::uint64_t pushes() const noexcept { return pushes_.load(); }
  [[nodiscard]] std::size_t waiters() const;
  /// Looks, and settles nothing.
  [[nodiscard]] std::optional<Holder> holder(std::string_view name,
                                             Mode mode = Mode::exclusive) const;
  /// @return how many keys are remembered, those included that are over and not yet removed.
  [[nodiscard]] std::size_t remembered() const;

 private:
  struct Queued {
    AttemptId attempt;
    std::string label;
    std::chrono::nanoseconds lease;
    std::weak_ptr<Link> link;
    Instant last_contact;
    std::shared_ptr<const Memory> memory;
    Mode mode;
    Instant since;
  };
  struct Held {
    ServerGrant grant;
    std::string label;
    Instant expires;
  };
  struct Name {
    std::optional<Held> held;  // exclusively
    // In the order of their grants: readers, beside that in a downgrade only, or permits. A pointer
    // where there are none.
    std::forward_list<Held> sharing{};
    std::uint32_t permits = 0;  // of a semaphore: how many may be held
    std::list<Queued> queue{};  // not a deque: that takes 576 bytes even where it is empty
    // Attempts that are over, and until when.
    std::forward_list<std::pair<AttemptId, Instant>> tombstones{};
  };
  using Pushes = std::vector<Push>;

  using Names = std::unordered_map<std::string, Name>;

  /// Const as the store is.
  template <class Self>
  [[nodiscard]] static auto& names_of(Self& store, Mode mode) noexcept {
    if (mode == Mode::permit) return store.semaphores_;
    return mode == Mode::once ? store.keys_ : store.locks_;
  }
  [[nodiscard]] const Names& names(Mode mode) const noexcept { return names_of(*this, mode); }
  [[nodiscard]] Names& names(Mode mode) noexcept { return names_of(*this, mode); }
  static void expire(Name& entry, Instant now);
  /// @return what that attempt holds; null: nothing.
  [[nodiscard]] static Held* held_by(Name& entry, const AttemptId& attempt) noexcept;
  [[nodiscard]] static bool excluded(const Name& entry, Mode mode) noexcept;
  /// Whether a semaphore has another number of permits than is asked for.
  [[nodiscard]] static bool differs(Name& entry, const Acquisition::Request& request) noexcept;
  /// Whether an attempt that has come now is granted the name.
  [[nodiscard]] static bool may_take(const Name& entry, const Acquisition::Request& request);
  static void end(Name& entry, const AttemptId& attempt) noexcept;
  static void pass_over_the_dead(Name& entry, Instant now);
  Name& settled(const std::string& name, Mode mode, Instant now, Pushes& pushes);
  void hand_over(Name& entry, const std::string& name, Mode mode, Instant now, Pushes& pushes);
  struct Given {
    ServerGrant grant;
    std::uint64_t run = 0;  ///< of a key: its number
  };
  Given give(Name& entry, const Acquisition::Request& request, Instant now,
             std::chrono::nanoseconds lease);
  void tell_grant(Name& entry, const Acquisition::Request& request, Instant now,
                  Answer& answer) const;
  /// What is asked of a key, and the name as it is: who is told, and what.
  [[nodiscard]] std::shared_ptr<const Record> answer_to(const Memory& asked, const std::string& key,
                                                        const Name& entry) const;
  void tell_those_who_wait(Name& entry, const std::string& key, Instant now, Pushes& pushes);
  /// Removes a few keys that are over: whoever comes by does it.
  void sweep(Instant now, Pushes& pushes);
  void leave_tombstone(Name& entry, const AttemptId& attempt, Instant now) const;
  [[nodiscard]] static bool has_tombstone(const Name& entry, const AttemptId& attempt);
  [[nodiscard]] static std::optional<Holder> holder_of(const Name& entry, Instant now);
  void erase_if_idle(const std::string& name, Mode mode);
  void deliver(const Pushes& pushes);

  const std::shared_ptr<Clock> clock_;
  mutable std::mutex mutex_;
  Names locks_;
  Names keys_;
  Names semaphores_;
  Remembered remembered_;
  // One number for all names grows at every grant, so that none is lost with an idle name.
  std::uint64_t last_number_ = 0;
  Faults faults_;
  std::atomic<bool> faulty_{false};
  bool has_been_faulty_ = false;
  std::atomic<bool> reachable_{true};
  base::SplitMix random_{1};
  std::uint64_t requests_ = 0;
  std::atomic<std::uint64_t> pushes_{0};
};

}  // namespace mortise::memory
