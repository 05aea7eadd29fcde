// SPDX-License-Identifier: MIT
// Every option that a caller can set, with its unit, its default and its limits. New versions only
// append fields with a default. So designated initialisers still compile.
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

/// How to hold a name. The options belong to the handle. The options of the outermost acquisition
/// apply to the hold.
struct LockOptions {
  /// How long the server keeps a hold after its client has gone silent, 100 ms to 24 h. Backends
  /// with sessions (ZooKeeper) use the session timeout instead. `file:` has no leases. See
  /// `Capabilities`.
  TimeOption<std::chrono::milliseconds> lease = std::chrono::seconds(30);
  /// true: the client renews the lease when a third of the lease has passed, until the last unlock.
  /// false: the hold is lost when the lease ends.
  bool renew = true;
  /// The longest time of a hold, including its renewals. After this time the hold is lost. The name
  /// becomes free. The value must be at least `lease` if `renew` is set. `milliseconds::max()`
  /// means no limit.
  TimeOption<std::chrono::milliseconds> max_hold = std::chrono::milliseconds::max();
  /// The text that other clients read as `Holder::label`: up to 128 bytes of visible UTF-8. Empty
  /// means "host:pid". `make_lock()` refuses control characters, invisible characters, and marks
  /// that change the text direction (`Errc::misconfigured`). The reason is that programs print
  /// labels on terminals and in logs.
  std::string label{};
  /// The minimum time for which the name stays locked, counted from the grant (0 to 24 h, at most
  /// `max_hold`). The minimum applies even if the owner unlocks earlier. The option prevents a
  /// short scheduled job from running twice on machines with slightly different clocks.
  ///
  /// `unlock()` returns at once. The caller then holds nothing. The store frees the name when
  /// `min_hold` has passed, even if this process and its client have ended. If the client is still
  /// running at that time, it notifies the store. The next waiter then gets the name at once.
  /// Otherwise the next waiter gets the name within a second. If the hold is lost, or if the
  /// process ends before the unlock, the name becomes free when the lease ends.
  ///
  /// A store that cannot reserve a name without a holder (`file:`, ZooKeeper) does not have
  /// `Capabilities::min_hold`. For such a store, `Client::make_lock()` fails with
  /// `Errc::unsupported`. Use `Client::make_once()` instead, with the day in the key. With
  /// `Mode::shared` the option fails with `Errc::misconfigured`, because the readers of a client
  /// share one hold and one grant.
  TimeOption<std::chrono::milliseconds> min_hold = std::chrono::milliseconds(0);
  /// `Mode::shared`: the owner is one of many readers. Readers and exclusive owners exclude each
  /// other. Needs `Capabilities::shared_mode`.
  ///
  /// The readers of one client share one hold at the server. The shared hold has the lease and the
  /// label of the first reader. If a new reader has a different `renew` or `max_hold`, it waits
  /// until the shared hold has ended. Without `renew`, the same applies to a different `lease`. A
  /// shared hold with a fixed end accepts new readers only during `ClientOptions::turn`.
  Mode mode = Mode::exclusive;
};

/// One acquisition, for example `{.wait = 2s, .stop = token}`.
struct AcquireOptions {
  /// The longest wait. Zero or less means one try.
  TimeOption<std::chrono::nanoseconds> wait = forever;
  /// Ends the wait early. The call then reports `Errc::cancelled`.
  std::stop_token stop{};
  /// The owner that takes the lock; by default the calling thread. By default each permit of a
  /// semaphore is its own owner: see `Semaphore::acquire()`.
  Owner owner{};
};

/// A key that runs once. The options belong to the handle.
struct OnceOptions {
  /// How long the store remembers the key, 1 s to 10 years. The time counts from the end of the
  /// run. While the key is pending, the time counts from the beginning of the run. After this time
  /// the store forgets the key. The next caller runs the key with `number()` 1.
  TimeOption<std::chrono::milliseconds> keep = std::chrono::hours(24);
  /// Identifies the request, for example a hash of the order: up to 128 bytes of any value. If the
  /// store remembers the key with a different fingerprint, the call fails with `Errc::mismatch`.
  std::string fingerprint{};
  /// The callers that run a key although it already has an outcome.
  Repeat repeat = Repeat::after_failure;
  /// The longest wait while another caller runs the key. Zero or less means no wait.
  TimeOption<std::chrono::nanoseconds> wait = forever;
  /// As `LockOptions::lease`: how long a runner that has gone silent keeps the key.
  TimeOption<std::chrono::milliseconds> lease = std::chrono::seconds(30);
  /// As `LockOptions::label`.
  std::string label{};
  /// Ends the wait early.
  std::stop_token stop{};
};

/// One client. The constructor refuses impossible values with `Errc::misconfigured`.
struct ClientOptions {
  /// How long an unbounded call (no `wait`) keeps trying without a connection. After this time the
  /// call fails with `Errc::unavailable`. 0 means that the call never gives up.
  TimeOption<std::chrono::milliseconds> give_up = std::chrono::seconds(10);
  /// How long this process may pass a lock among its own threads while other processes wait.
  TimeOption<std::chrono::milliseconds> turn = std::chrono::milliseconds(5);
  /// The same limit as a number of hand-overs, 0 to 1,000. 0 means that every hand-over goes
  /// through the server.
  std::uint32_t turn_handoffs = 1'000;
  /// Receives grants, losses and errors. Empty means no observer.
  std::shared_ptr<Observer> observer{};
  /// The source of time. Empty means the real clock. Tests can pass a `ManualClock` from
  /// `mortise/clock.hpp`.
  std::shared_ptr<Clock> clock{};
};

}  // namespace mortise
