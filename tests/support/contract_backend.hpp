// SPDX-License-Identifier: MIT
// What the contract suite has to know of a backend: how to open a fresh store of it, what can be
// done to that store, and what the backend promises. A backend that joins the suite implements
// `Store` in about forty lines; what it cannot do it leaves out, and on it there are no tests that
// need it.
#pragma once

#include <mortise/backend.hpp>
#include <mortise/clock.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <variant>

namespace mortise::contract {

/// What a store lets a test do, beyond having clients.
enum class Hook {
  processes,      ///< `backend()` works in a forked child, and reaches the same store
  hand_clock,     ///< the store and its clients follow a clock that the test moves
  unreachable,    ///< `set_reachable()`
  restart,        ///< `restart()`
  take_away,      ///< `take_away()`
  take_key_away,  ///< `take_key_away()`
  lost_messages,  ///< `misbehave()` with lost requests and lost replies
  lost_pushes,    ///< `misbehave()` with lost pushes
  delays,         ///< `misbehave()` with delays
  late_copies,    ///< a request may arrive once more on the way it came; a stream never does that
  counts,         ///< `waiters()` and `pushes()`
};

/// What a backend is, as its `Capabilities` say, and what that lets a test do.
enum class Quality {
  leases,       ///< holds end by themselves
  no_leases,    ///< they do not
  fair,         ///< turns in the order of arrival at the store
  one_wake,     ///< one release wakes one waiter
  chance,       ///< a freed name is whose look comes first: no order, and nobody is woken
  no_chance,    ///< there is one of both
  loss,         ///< a test can have a hold be lost: by time, or `Hook::take_away`
  once,         ///< keys with a memory
  no_once,      ///< there are none
  min_hold,     ///< a name can be kept for nobody
  no_min_hold,  ///< it cannot
  shared,       ///< readers
  permits,      ///< semaphores
  no_permits,   ///< none

  holders,           ///< the holder of a lock: `Lock::holder()`
  lists,             ///< names that are held
  lists_once,        ///< no name on two pages
  lists_long_names,  ///< of up to 512 bytes; elsewhere those that are too long are counted
  queues,            ///< who holds a name
  queues_of_many,    ///< each of those who hold it together
  queues_of_both,    ///< an owner that reads beside its hold as both
  waiters,           ///< and who waits for it, in order of arrival
  waiter_labels,     ///< with their labels
  forces,            ///< the holds of others can be ended
};

/// What this build is: sanitizers cannot follow everything that a process may do.
enum class Build {
  no_sanitizer,
  no_address_sanitizer,
};

[[nodiscard]] bool built_as(Build build);

/// What a test needs of its ground.
using Need = std::variant<Hook, Quality, Build>;

/// How messages between clients and server fare from now on.
struct Misbehaviour {
  double lose_request = 0;                ///< the probability that a request does not arrive
  double lose_reply = 0;                  ///< that it is executed, and its reply is lost
  double lose_push = 0;                   ///< that a grant to a waiter is lost
  std::chrono::nanoseconds delay_min{0};  ///< each message takes at least so long
  std::chrono::nanoseconds delay_max{0};
  std::uint64_t seed = 1;
};

/// A server, or whatever its clients share: fresh, and used by one test. Destroyed after its
/// clients.
class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store();

  /// @return the side of a new client, as a factory of the library makes it.
  [[nodiscard]] virtual std::unique_ptr<Backend> backend() = 0;

  /// Cuts every client off (also those that come later), or ends that.
  virtual void set_reachable(bool reachable);
  /// Stops the server and starts it again; returns when it takes requests.
  virtual void restart();
  /// Takes a hold away as an administrator would: deletes the key, the node, the file.
  virtual void take_away(const std::string& name);
  /// The same with the hold of a key, of which the store goes on remembering what it does.
  virtual void take_key_away(const std::string& key);
  virtual void misbehave(const Misbehaviour& how);
  /// @return how many waiters are queued at the server, on all names.
  [[nodiscard]] virtual std::size_t waiters() const;
  /// @return how many waiters were woken so far.
  [[nodiscard]] virtual std::uint64_t pushes() const;
};

/// One backend as the suite sees it: a ground of its tests (support/grounds.hpp).
struct BackendUnderTest {
  using Need = contract::Need;

  std::string name;
  /// Opens a fresh store that follows the clock; a null clock is the real one.
  std::function<std::unique_ptr<Store>(std::shared_ptr<Clock> clock)> open;
  /// What its stores can do, and what it promises: traits_test.cpp compares that with what it says.
  std::set<Hook> hooks;
  std::set<Quality> qualities;
  /// @return what this machine has not that the store needs; empty = all is there.
  std::function<std::string()> missing = {};
  /// A lease that tests may wait out on the real clock.
  std::chrono::milliseconds short_lease{300};
  /// Whether requests are answered before they return: there is no way that takes time.
  bool answers_at_once = true;
  /// Of a backend that decides the lease by itself: opens a store whose leases are long enough for
  /// whatever a test does on a loaded machine. Empty = `LockOptions::lease` decides.
  std::function<std::unique_ptr<Store>()> open_with_long_leases = {};

  [[nodiscard]] bool has(const Need& need) const;
};

/// @return all hooks, but for those.
[[nodiscard]] std::set<Hook> all_hooks_but(const std::set<Hook>& those);

inline const std::string& name_of(const BackendUnderTest& backend) { return backend.name; }

}  // namespace mortise::contract
