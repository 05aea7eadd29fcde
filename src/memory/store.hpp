// SPDX-License-Identifier: MIT
// The server of the memory backend: names, holders, queues, grant numbers. Every request settles
// the name first (whoever's lease has ended is out, whoever waits first is in), as a server script
// would.
#pragma once

#include <mortise/memory.hpp>
#include <mortise/operation.hpp>

#include "base/random_id.hpp"

#include <atomic>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

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
  std::optional<ServerGrant> grant{};  ///< the attempt owns the name
  bool refused = false;                ///< the attempt was taken back before: it never will
  std::optional<Holder> holder{};      ///< who holds it otherwise
};

/// @thread_safety every member may be called concurrently. Pushes are sent outside the mutex.
class Store : public std::enable_shared_from_this<Store> {
 public:
  explicit Store(std::shared_ptr<Clock> clock) : clock_(std::move(clock)) {}

  Answer acquire(const Acquisition::Request& request, const std::shared_ptr<Link>& from);
  Answer cancel(const Acquisition::Request& request);
  /// An attempt is over with its release: what a copy of its request took since then goes, too.
  /// @param grant_only frees that grant alone: its attempt may hold by another one
  Released release(const HoldId& hold, bool grant_only = false);
  /// @return whether the hold stands; then its lease begins anew.
  bool renew(const HoldId& hold, std::chrono::nanoseconds lease);
  std::optional<Holder> inspect(const std::string& name);

  /// What the network does to one message: its delay, or nothing if it is lost.
  enum class Message : std::uint8_t { request, reply, push };
  std::optional<std::chrono::nanoseconds> send(Message kind);

  void set_faults(const Faults& faults);
  void set_reachable(bool reachable);
  [[nodiscard]] bool reachable() const noexcept { return reachable_.load(); }
  void restart();
  void drop(std::string_view name);
  [[nodiscard]] std::uint64_t requests() const;
  [[nodiscard]] std::uint64_t pushes() const noexcept { return pushes_.load(); }
  [[nodiscard]] std::size_t waiters() const;
  /// Looks, and settles nothing.
  [[nodiscard]] std::optional<Holder> holder(std::string_view name) const;

 private:
  struct Queued {
    AttemptId attempt;
    std::string label;
    std::chrono::nanoseconds lease;
    std::weak_ptr<Link> link;
    Instant last_contact;
  };
  struct Held {
    ServerGrant grant;
    std::string label;
    Instant expires;
  };
  struct Name {
    std::optional<Held> held;
    std::list<Queued> queue;  // not a deque: that takes 576 bytes even where it is empty
    std::list<std::pair<AttemptId, Instant>> tombstones;  // attempts that are over, and until when
  };
  struct Push {
    std::shared_ptr<Link> to;
    std::string name;
    ServerGrant grant;
  };
  using Pushes = std::vector<Push>;

  Name& settled(const std::string& name, Instant now, Pushes& pushes);
  void hand_over(Name& entry, const std::string& name, Instant now, Pushes& pushes);
  void give(Name& entry, const Acquisition::Request& request, Instant now,
            std::chrono::nanoseconds lease);
  void leave_tombstone(Name& entry, const AttemptId& attempt, Instant now) const;
  [[nodiscard]] static bool has_tombstone(const Name& entry, const AttemptId& attempt);
  [[nodiscard]] static std::optional<Holder> holder_of(const Name& entry, Instant now);
  void erase_if_idle(const std::string& name);
  void deliver(const Pushes& pushes);

  const std::shared_ptr<Clock> clock_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Name> names_;
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
