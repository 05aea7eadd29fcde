// SPDX-License-Identifier: MIT
// Every option that a caller can set, with its unit, its default and its limits. New versions add
// fields only at the end of a struct, with a default. So code with designated initialisers
// continues to compile.
#pragma once

#include <mortise/duration.hpp>
#include <mortise/key.hpp>
#include <mortise/mode.hpp>
#include <mortise/observer.hpp>
#include <mortise/owner.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

namespace mortise {

class Clock;
class Executor;

/// How to hold a name. Each `Lock` handle has its own options. A hold has the options of the handle
/// that took the hold. A re-entry through another handle does not change these options.
struct LockOptions {
  /// How long the server keeps a hold without a renewal, 100 ms to 24 h. Backends with sessions
  /// (ZooKeeper) use the session timeout instead. `file:` has no leases. See `Capabilities`.
  TimeOption<std::chrono::milliseconds> lease = std::chrono::seconds(30);
  /// If true, the client renews the lease each time a third of the lease has passed, until the last
  /// unlock. If false, the hold is lost when its lease ends.
  bool renew = true;
  /// The longest time of a hold, including its renewals. After this time the hold is lost. The name
  /// then becomes free. If `renew` is true, the value must be at least `lease`.
  /// `milliseconds::max()` means no limit.
  TimeOption<std::chrono::milliseconds> max_hold = std::chrono::milliseconds::max();
  /// The text that other clients read as `Holder::label`: up to 128 bytes of visible UTF-8. Empty
  /// means "host:pid". Programs print labels on terminals and in logs. So `make_lock()` refuses
  /// control characters, invisible characters, and marks that change the text direction
  /// (`Errc::misconfigured`).
  std::string label{};
  /// The minimum time for which the name stays locked, counted from the grant (0 to 24 h, at most
  /// `max_hold`). The minimum applies even if the owner unlocks earlier. The option prevents a
  /// short scheduled job from running twice on machines with slightly different clocks.
  ///
  /// `unlock()` does not wait until `min_hold` has passed. After `unlock()`, the caller holds
  /// nothing. The store frees the name when `min_hold` has passed, even if this process and its
  /// client have ended. If the client is still running at that time, the client notifies the store.
  /// The next waiter then gets the name at once. Otherwise the next waiter gets the name within a
  /// second. If the hold is lost, or if the process ends before the unlock, the name becomes free
  /// when the lease ends.
  ///
  /// A store that cannot reserve a name without a holder (`file:`, ZooKeeper) does not have
  /// `Capabilities::min_hold`. If `min_hold` is set, `Client::make_lock()` fails on such a store
  /// with `Errc::unsupported`. Use `Client::make_once()` instead, with the day in the key. With
  /// `Mode::shared`, `make_lock()` refuses `min_hold` with `Errc::misconfigured`, because the
  /// readers of a client share one hold and one grant.
  TimeOption<std::chrono::milliseconds> min_hold = std::chrono::milliseconds(0);
  /// `Mode::shared` means that the owner is one of many readers. Readers and exclusive owners
  /// exclude each other. `Mode::shared` needs `Capabilities::shared_mode`.
  ///
  /// The readers of one client share one hold at the server. The shared hold has the lease and the
  /// label of the first reader. If a new reader has a different `renew` or `max_hold`, the reader
  /// waits until the shared hold has ended. Without `renew`, the same applies to a different
  /// `lease`. A shared hold without `renew`, or with a `max_hold`, accepts new readers only during
  /// its first `ClientOptions::turn`.
  Mode mode = Mode::exclusive;
};

/// One acquisition, for example `{.wait = 2s, .stop = token}`.
struct AcquireOptions {
  /// The longest wait. Zero or less means one try.
  TimeOption<std::chrono::nanoseconds> wait = forever;
  /// A stop request ends the wait early. The call then reports `Errc::cancelled`.
  std::stop_token stop{};
  /// The owner that takes the lock; by default the calling thread. For a semaphore, each permit is
  /// its own owner by default: see `Semaphore::acquire()`.
  Owner owner{};
};

/// How to run a key once. Each `Once` handle has its own options.
struct OnceOptions {
  /// How long the store remembers the key, 1 s to 10 years. The time counts from the end of the
  /// run. While the key is pending, the time counts from the beginning of the run. After this time
  /// the store forgets the key. The next caller then runs the key with `Run::number()` 1.
  TimeOption<std::chrono::milliseconds> keep = std::chrono::hours(24);
  /// Identifies the request, for example a hash of the order: up to 128 bytes of any value. If the
  /// store remembers the key with a different fingerprint, the call fails with `Errc::mismatch`.
  std::string fingerprint{};
  /// Whether a caller runs a key that already has an outcome.
  Repeat repeat = Repeat::after_failure;
  /// The longest wait while another caller runs the key. Zero or less means no wait.
  TimeOption<std::chrono::nanoseconds> wait = forever;
  /// As `LockOptions::lease`: how long a runner keeps the key without a renewal.
  TimeOption<std::chrono::milliseconds> lease = std::chrono::seconds(30);
  /// As `LockOptions::label`.
  std::string label{};
  /// A stop request ends the wait early.
  std::stop_token stop{};
};

/// The threads that do the work of a client: renewals, timers, answers of the store.
enum class Drive : std::uint8_t {
  threads,  ///< the client starts its own threads when it needs them
  program,  ///< no thread: the program calls `Client::poll()`
};

/// The options of one client. The constructor of `Client` refuses impossible values with
/// `Errc::misconfigured`.
struct ClientOptions {
  /// How long a call without a time limit keeps trying to connect. After this time the call fails
  /// with `Errc::unavailable`. 0 means that the call never gives up.
  TimeOption<std::chrono::milliseconds> give_up = std::chrono::seconds(10);
  /// How long this client may pass a lock between threads of its process while other clients wait.
  TimeOption<std::chrono::milliseconds> turn = std::chrono::milliseconds(5);
  /// The largest number of such hand-overs in one turn, 0 to 1,000. 0 means that every hand-over
  /// goes through the server.
  std::uint32_t turn_handoffs = 1'000;
  /// The observer that receives grants, losses and errors. Empty means no observer.
  std::shared_ptr<Observer> observer{};
  /// The source of time. Empty means the real clock. Tests can pass a `ManualClock` from
  /// `mortise/clock.hpp`.
  std::shared_ptr<Clock> clock{};
  /// The threads that do the work of the client. With `Drive::program`, the program calls
  /// `Client::poll()` whenever `Client::descriptor()` is readable. Without these calls, the client
  /// renews no lease. The thread of the loop should make no blocking call: a call that waits for a
  /// hold of the same loop waits for itself.
  Drive drive = Drive::threads;
  /// Runs the handlers of asynchronous calls, see `Pending`. Empty means a thread of the client, or
  /// `Client::poll()`. The client and its calls share the executor, so any thread that ends the
  /// last call may destroy it.
  std::shared_ptr<Executor> executor{};
};

}  // namespace mortise
