// SPDX-License-Identifier: MIT
// Every option that a caller can set, with its unit, its default and its limits. New fields are
// only appended, with a default, so that designated initialisers still compile.
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
  /// true: the client renews the lease at a third of it, until the last unlock. false: the hold is
  /// lost when the lease ends.
  bool renew = true;
  /// The longest time of a hold, renewals included. Then the hold is lost and the name becomes
  /// free. At least `lease` if `renew` is set. `milliseconds::max()` means no limit.
  TimeOption<std::chrono::milliseconds> max_hold = std::chrono::milliseconds::max();
  /// The text that others read as `Holder::label`: up to 128 bytes of visible UTF-8. Empty means
  /// "host:pid". `make_lock()` refuses control characters, invisible characters, and marks that
  /// change the text direction (`Errc::misconfigured`), because labels are printed on terminals and
  /// in logs.
  std::string label{};
  /// Minimum time the name stays locked, counted from the grant, even if it is unlocked earlier (0
  /// to 24 h, at most `max_hold`). Prevents a short scheduled job from running twice on machines
  /// with slightly different clocks.
  ///
  /// `unlock()` returns at once, and the caller then holds nothing. The store frees the name when
  /// that time has passed, even if this process and its client have ended. If the client still
  /// lives then, it notifies the store, and the next waiter gets the name at once. Otherwise the
  /// next waiter gets it within a second. If the hold is lost, or if its process ends before the
  /// unlock, the name becomes free when the lease ends.
  ///
  /// A store that cannot reserve a name without a holder (`file:`, ZooKeeper) does not have
  /// `Capabilities::min_hold`. `Client::make_lock()` then fails with `Errc::unsupported`. Use
  /// `Client::make_once()` there, with the day in the key. With `Mode::shared` the option fails
  /// with `Errc::misconfigured`, because the readers of a client share one hold and one grant.
  TimeOption<std::chrono::milliseconds> min_hold = std::chrono::milliseconds(0);
  /// `Mode::shared`: the owner is one of many readers. Readers and exclusive owners exclude each
  /// other. Needs `Capabilities::shared_mode`.
  ///
  /// The readers of one client share one hold at the server. That hold has the lease and the label
  /// of the first reader. If the `renew` or `max_hold` of a new reader differs from that of the
  /// shared hold, the reader waits until that hold has ended. Without `renew` this also applies to
  /// `lease`. A shared hold with a fixed end accepts new readers only during `ClientOptions::turn`.
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
  /// How long the store remembers the key, 1 s to 10 years. The time counts from the conclusion;
  /// while the key is pending, from the beginning of its run. Then the store forgets the key, and
  /// the next caller runs it as the first one.
  TimeOption<std::chrono::milliseconds> keep = std::chrono::hours(24);
  /// Identifies the request, for example a hash of the order: up to 128 bytes of any value. A key
  /// that is remembered with a different fingerprint fails with `Errc::mismatch`.
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
  /// How long an unbounded call (no `wait`) keeps trying without a connection before it fails with
  /// `Errc::unavailable`. 0 means that it never gives up.
  TimeOption<std::chrono::milliseconds> give_up = std::chrono::seconds(10);
  /// How long this process may pass a lock among its own threads while other processes wait.
  TimeOption<std::chrono::milliseconds> turn = std::chrono::milliseconds(5);
  /// The same limit as a number of hand-overs, 0 to 1,000. 0 means that every hand-over goes
  /// through the server.
  std::uint32_t turn_handoffs = 1'000;
  /// Receives grants, losses and errors. Empty means no observer.
  std::shared_ptr<Observer> observer{};
  /// The source of time. Empty means the real clock. For tests: a `ManualClock` of
  /// `mortise/clock.hpp`.
  std::shared_ptr<Clock> clock{};
};

}  // namespace mortise
