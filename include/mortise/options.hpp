// SPDX-License-Identifier: MIT
// Every option that a caller can set, each with its unit, default and limits. New fields are only
// ever appended, with a default, so that designated initialisers go on compiling.
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

/// How a name is held. They belong to the handle; those of the outermost acquisition rule the hold.
struct LockOptions {
  /// How long the server keeps a hold whose client has gone silent; 100 ms to 24 h. Backends with
  /// sessions (ZooKeeper) use their own, and `file:` has none: see `Capabilities`.
  TimeOption<std::chrono::milliseconds> lease = std::chrono::seconds(30);
  /// Whether the watchdog renews the lease, at a third of it, until the last unlock. Without, the
  /// hold is lost when the lease ends.
  bool renew = true;
  /// The longest time a hold may last, renewals included; then it is lost and the name is freed.
  /// At least `lease` where `renew` is set; `milliseconds::max()` = no limit.
  TimeOption<std::chrono::milliseconds> max_hold = std::chrono::milliseconds::max();
  /// What others see as `Holder::label`: up to 128 bytes of visible UTF-8; empty = "host:pid". A
  /// control character, a mark that turns the direction of the text, or one without width is
  /// refused with `Errc::misconfigured`, because a label is printed on terminals and in logs.
  std::string label{};
  /// How long the name stays taken at least, from the grant on, however soon it is unlocked; 0 to
  /// 24 h, and not longer than `max_hold`. For a job that must not run again on a machine whose
  /// clock is a little behind. `unlock()` returns at once, and the caller holds nothing any more;
  /// the store frees the name when the time has come, whatever becomes of this process and its
  /// client meanwhile. If the client still lives then, it notifies the store, so that the next
  /// waiter is served at once; otherwise within a second. A hold that is lost, or that dies with
  /// its process before it was unlocked, ends with its lease. Where the store cannot keep a name
  /// for nobody (`file:`, ZooKeeper; `Capabilities::min_hold`), `Client::make_lock()` refuses it
  /// with `Errc::unsupported`: use `Client::make_once()` there, with the day in the key. Refused
  /// with `Mode::shared` (`Errc::misconfigured`): readers have one hold together, whose grant is
  /// not that of each.
  TimeOption<std::chrono::milliseconds> min_hold = std::chrono::milliseconds(0);
  /// `shared`: as one of many readers, which exclude exclusive owners only, and are excluded by
  /// them. Needs `Capabilities::shared_mode`.
  ///
  /// The readers of one client share one hold at the server, which has the lease and the label of
  /// the first of them. Where one asks for another `renew` or `max_hold` than that hold has, it
  /// waits until the hold has ended; and a hold that ends by itself, because of either, is joined
  /// for `ClientOptions::turn` only.
  Mode mode = Mode::exclusive;
};

/// One acquisition. `{.wait = 2s, .stop = token}`.
struct AcquireOptions {
  /// How long to wait at most; zero or less = one try.
  TimeOption<std::chrono::nanoseconds> wait = forever;
  /// Ends the wait early; the outcome is then `Errc::cancelled`.
  std::stop_token stop{};
  /// Who takes the lock; default: the calling thread. Of a semaphore, the default is an owner of
  /// the permit's own: see `Semaphore::acquire()`.
  Owner owner{};
};

/// A key that is run once. They belong to the handle.
struct OnceOptions {
  /// How long the store remembers the key: from its conclusion, and from its begin while it is
  /// pending. 1 s to 10 years. Then it is forgotten, and the next caller runs it as the first one.
  TimeOption<std::chrono::milliseconds> keep = std::chrono::hours(24);
  /// What makes two requests for one key the same, such as a hash of the order: up to 128 bytes of
  /// any value. A key that is remembered with another one is refused with `Errc::mismatch`.
  std::string fingerprint{};
  /// Who runs a key that has an outcome already.
  Repeat repeat = Repeat::after_failure;
  /// How long to wait at most while somebody else runs the key; zero or less = not at all.
  TimeOption<std::chrono::nanoseconds> wait = forever;
  /// As `LockOptions::lease`: how long the key stays with a runner that has gone silent.
  TimeOption<std::chrono::milliseconds> lease = std::chrono::seconds(30);
  /// As `LockOptions::label`.
  std::string label{};
  /// Ends the wait early.
  std::stop_token stop{};
};

/// One client. Impossible values are refused at construction with `Errc::misconfigured`.
struct ClientOptions {
  /// How long a call without time limit goes on while there is no connection, before it fails with
  /// `Errc::unavailable`; 0 = never.
  TimeOption<std::chrono::milliseconds> give_up = std::chrono::seconds(10);
  /// How long this process may pass a lock among its own threads while other processes wait.
  TimeOption<std::chrono::milliseconds> turn = std::chrono::milliseconds(5);
  /// The same as a number of hand-overs, 0 to 1,000; 0 = every hand-over goes through the server.
  std::uint32_t turn_handoffs = 1'000;
  /// Told about grants, losses, errors; empty = nobody.
  std::shared_ptr<Observer> observer{};
  /// The time; empty = the real one. For tests: a `ManualClock` of `mortise/clock.hpp`.
  std::shared_ptr<Clock> clock{};
};

}  // namespace mortise
