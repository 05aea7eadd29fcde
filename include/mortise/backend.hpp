// SPDX-License-Identifier: MIT
// The interface that a backend implements. A backend knows how to ask its server; it never sees
// re-entry, local waiters, guards, observers or time-outs of callers: the library has those once.
#pragma once

#include <mortise/capabilities.hpp>
#include <mortise/clock.hpp>
#include <mortise/export.hpp>
#include <mortise/listing.hpp>
#include <mortise/mode.hpp>
#include <mortise/operation.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace mortise {

/// Something that the client's threads poll for a backend: a socket, a timer, or both.
///
/// `ready()` and `due()` of one source are never called at the same time by two threads.
class MORTISE_API Source {
 public:
  virtual ~Source();
  /// @return the descriptor to poll, or -1 for a source that only has timers.
  [[nodiscard]] virtual int descriptor() const noexcept { return -1; }
  /// @return what to poll for (`POLLIN`, `POLLOUT`), asked before each poll.
  [[nodiscard]] virtual short interest() const noexcept { return 0; }
  /// @return when `ready()` is to be called even without an event; `never` = not at all.
  [[nodiscard]] virtual Instant due() const noexcept { return never; }
  /// @return true: nobody asked for what comes (pushes, timers), so that it is polled always, by a
  /// caller that awaits a push, or by the background thread (which comes to it within a millisecond
  /// after the last such caller has left); false: it carries replies, and the callers that await
  /// them poll it. Constant.
  [[nodiscard]] virtual bool pushes() const noexcept { return true; }
  /// @return for a source of replies: whether one is awaited, so that the background thread has to
  /// poll although no caller waits. Called from any thread.
  [[nodiscard]] virtual bool outstanding() const noexcept { return true; }
  /// Reads, writes, completes operations; must not block.
  /// @param events what `poll` reported, 0 when the time has come
  /// @param now the client's clock, read after the poll
  virtual void ready(short events, Instant now) = 0;
};

/// What the library offers to a backend.
/// @thread_safety every member may be called concurrently, from completions too.
class MORTISE_API Host {
 public:
  virtual ~Host();
  /// @return the client's clock; valid as long as the backend.
  [[nodiscard]] virtual const std::shared_ptr<Clock>& clock() const noexcept = 0;
  /// Has a source polled: by callers that wait for an operation, by the background thread when
  /// none does. The source must stay valid until `detach()` has returned.
  virtual void attach(Source& source) = 0;
  /// Ends that; returns when no thread is inside the source any more, unless called from inside it.
  virtual void detach(Source& source) noexcept = 0;
  /// The source's `interest()` or `due()` changed: whoever polls looks again.
  virtual void changed(Source& source) noexcept = 0;
  /// The server took a hold away (a session expired, a key was deleted): it is lost now.
  virtual void hold_lost(const HoldId& hold, Failure why) = 0;
  /// Somebody asks the holder to let go: the hold stands, and the observer is told.
  virtual void hold_wanted(const HoldId& hold);
};

/// The server side of locks, completion-based.
///
/// Every request member returns without waiting for the server (a request that needs no server may
/// complete before it returns), takes shared ownership as long as it needs the operation, and
/// completes it at most once, while it holds no mutex that a call into the backend takes: the
/// library may call the backend from inside a completion.
///
/// Lost replies: `acquire()` may be called again with the same pending operation, each fallback
/// period or command time-out. It asks again under the same attempt id; the answer is the same
/// hold, the position in the queue, or a clean failure, never a second hold. A waiter that was told
/// of a grant by a push has its own lease checked by that before it believes it.
/// @thread_safety every member may be called concurrently after `start()`.
class MORTISE_API Backend {
 public:
  virtual ~Backend();

  /// @return what the backend promises.
  [[nodiscard]] virtual Capabilities capabilities() const = 0;
  /// @return the backend in words for messages, without credentials: "redis 10.0.0.1:6379".
  [[nodiscard]] virtual std::string describe() const = 0;
  /// @return why it has no holds of a mode, for the message to who asks for one: `unsupported`. By
  /// default there is no more to say.
  [[nodiscard]] virtual std::string why_not(Mode mode) const;
  /// Called once, before any request; `host` outlives the backend.
  virtual void start(Host& host) = 0;
  /// Ends everything: descriptors closed, pending operations completed with `closed`. Bounded.
  virtual void stop() noexcept = 0;

  /// Takes a name, or joins its queue; also "ask again" for a pending operation.
  virtual void acquire(const std::shared_ptr<Acquisition>& operation) = 0;
  /// Takes a pending acquisition back. It is then completed: `busy` = gone from the queue, no
  /// effect is left; or `granted` = it was too late, the attempt owns the name. May be called
  /// again.
  virtual void cancel(const std::shared_ptr<Acquisition>& operation) = 0;
  /// Renews holds, each checked for name, attempt and number at the server.
  virtual void renew(const std::shared_ptr<Renewal>& operation) = 0;
  /// Frees exactly this hold, or nothing; with a successor: see `Release`.
  virtual void release(const std::shared_ptr<Release>& operation) = 0;
  /// Tells who holds a name.
  virtual void inspect(const std::shared_ptr<Inspection>& operation) = 0;
  /// Tells what is remembered of a key, or forgets it. Backends without `Capabilities::once` do not
  /// override it.
  virtual void recall(const std::shared_ptr<Recollection>& operation);
  /// Tells names that are held, one page of them: of locks, in this backend's own namespace, that
  /// begin with the prefix. It must not keep the store from others, so a page is what one bounded
  /// look finds. A name that is held all the while that pages are read is in one of them. A
  /// backend without `Capabilities::lists` need not override it, nor those without the two that
  /// follow these.
  virtual void list(const std::shared_ptr<Listing>& operation);
  /// Tells who holds a name and who waits for it, as far as the limit goes.
  virtual void queue(const std::shared_ptr<QueueLook>& operation);
  /// Ends a hold, whoever has it.
  virtual void force_release(const std::shared_ptr<ForcedRelease>& operation);
  /// Connects if need be, and tells whether locks can be taken.
  virtual void check(const std::shared_ptr<Check>& operation) = 0;

  /// Has the calling thread wait for an operation, usefully if the backend knows how; returns when
  /// its signal is not `seen`, when the time is up, or earlier. By default it drives the attached
  /// sources for everybody, or sleeps where another thread does that already.
  /// @return false = not overridden: the library waits in its own way
  virtual bool wait(Operation& operation, std::uint32_t seen, std::chrono::nanoseconds at_most);
};

}  // namespace mortise
