// SPDX-License-Identifier: MIT
// What the contract suite has to know of a backend: how to open a fresh store of it, and what can
// be done to that store. A backend that joins the suite implements `Store` in about forty lines;
// what it cannot do it leaves out, and the tests that need it are skipped with that reason.
#pragma once

#include <mortise/backend.hpp>
#include <mortise/clock.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>

namespace mortise::contract {

/// What a store lets a test do, beyond having clients.
enum class Hook {
  processes,      ///< `backend()` works in a forked child, and reaches the same store
  hand_clock,     ///< the store and its clients follow a clock that the test moves
  unreachable,    ///< `set_reachable()`
  restart,        ///< `restart()`
  take_away,      ///< `take_away()`
  lost_messages,  ///< `misbehave()` with lost requests and lost replies
  lost_pushes,    ///< `misbehave()` with lost pushes
  delays,         ///< `misbehave()` with delays
  late_copies,    ///< a request may arrive once more on the way it came; a stream never does that
  counts,         ///< `waiters()` and `pushes()`
};

/// @return the words after "this store ...", for the reason of a skipped test.
[[nodiscard]] std::string_view words_for_lack_of(Hook hook);

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
  /// @return whether it can do that.
  [[nodiscard]] virtual bool has(Hook hook) const = 0;

  /// Cuts every client off (also those that come later), or ends that.
  virtual void set_reachable(bool reachable);
  /// Stops the server and starts it again; returns when it takes requests.
  virtual void restart();
  /// Takes a hold away as an administrator would: deletes the key, the node, the file.
  virtual void take_away(const std::string& name);
  virtual void misbehave(const Misbehaviour& how);
  /// @return how many waiters are queued at the server, on all names.
  [[nodiscard]] virtual std::size_t waiters() const;
  /// @return how many waiters were woken so far.
  [[nodiscard]] virtual std::uint64_t pushes() const;
};

/// One backend as the suite sees it.
struct BackendUnderTest {
  std::string name;
  /// Opens a fresh store that follows the clock; a null clock is the real one.
  std::function<std::unique_ptr<Store>(std::shared_ptr<Clock> clock)> open;
  /// A lease that tests may wait out on the real clock.
  std::chrono::milliseconds short_lease{300};
  /// Whether requests are answered before they return: there is no way that takes time.
  bool answers_at_once = true;
};

inline void PrintTo(const BackendUnderTest& backend, std::ostream* out) { *out << backend.name; }

}  // namespace mortise::contract
