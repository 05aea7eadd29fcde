// SPDX-License-Identifier: MIT
// The client of one backend. A client owns connections and threads, and makes locks.
#pragma once

#include <mortise/capabilities.hpp>
#include <mortise/error.hpp>
#include <mortise/export.hpp>
#include <mortise/guard.hpp>
#include <mortise/holder.hpp>
#include <mortise/listing.hpp>
#include <mortise/lock.hpp>
#include <mortise/once.hpp>
#include <mortise/options.hpp>
#include <mortise/pending.hpp>
#include <mortise/read_write_lock.hpp>
#include <mortise/semaphore.hpp>
#include <mortise/snapshot.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

/// Distributed locks: one `Lock` class that behaves the same on every store.
namespace mortise {

class Backend;
namespace runtime {
class ClientState;
}

/// One client of one backend. Make one client per process and share it.
///
/// The client starts its threads when it first needs them. One background thread runs renewals and
/// timers and receives pushes. Other threads deliver losses and notifications. A forked child must
/// not use the client of its parent. In the child, every call fails with `Errc::closed`. The child
/// renews no lease.
/// @thread_safety Every member may be called concurrently, except the destructor and the move
/// operations. On a moved-from client, call only `close()`. An assertion checks this rule.
class MORTISE_API Client {
 public:
  /// Opens a URL. Reads only the text of the URL, and for `file:` also the directory. So a service
  /// starts even if its store is down. Call `check()` to connect.
  ///
  /// Schemes: `memory:`, `file:`, `redis:`, `redis+unix:`, `redis+sentinel:`, `redis+cluster:`
  /// (over TLS `rediss:`, `rediss+sentinel:`, `rediss+cluster:`), `redlock:`, `redlocks:`,
  /// `redlock+unix:`, `zookeeper:`, `zookeeper+tls:`, `postgresql:` and `postgres:`. The page
  /// docs/reference.md describes the schemes. The pages in docs/stores list the parameters of each
  /// scheme. The CMake target `mortise::mortise` has this constructor and every scheme.
  /// @param url the URL of the store; no message of the library contains its password
  /// @param options see `ClientOptions`
  /// @errors `misconfigured` (the message names the scheme, host or parameter), `unsupported` (this
  /// build does not have the scheme), `denied` (the directory of `file:`), `exhausted` (no file
  /// descriptors); thrown as `Error`
  explicit Client(std::string_view url, ClientOptions options = {});
  /// Uses a backend that the caller has made: with a factory, such as
  /// `mortise::file::backend(url)`, or from its own class.
  ///
  /// @errors `misconfigured` (a null backend, or an impossible option), `exhausted` (no file
  /// descriptors); thrown as `Error`
  explicit Client(std::unique_ptr<Backend> backend, ClientOptions options = {});
  /// Opens a URL without exceptions.
  ///
  /// @param url as above
  /// @param ec receives the code of the error; clear on success
  /// @return the client; empty if `ec` is set
  [[nodiscard]] static std::optional<Client> open(std::string_view url, std::error_code& ec) {
    return open(url, {}, ec);
  }
  [[nodiscard]] static std::optional<Client> open(std::string_view url, ClientOptions options,
                                                  std::error_code& ec) {
    Failure failure;
    std::optional<Client> client = open(url, std::move(options), failure);
    ec = failure.code;
    return client;
  }
  /// As above, with a message: `failure.words()` names the invalid scheme, host or parameter.
  [[nodiscard]] static std::optional<Client> open(std::string_view url, ClientOptions options,
                                                  Failure& failure);
  /// Opens the URL in the environment variable `MORTISE_URL`.
  ///
  /// @errors `misconfigured` if the variable is missing or empty. The message contains the name of
  /// the variable, but not its value. Otherwise as `Client(url)`
  /// @thread_safety No other thread may change the environment during the call.
  [[nodiscard]] static Client from_env(ClientOptions options = {});
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  /// Calls `close()`.
  ~Client();

  /// Makes a handle on a lock. Contacts no server.
  ///
  /// @param name 1 to 512 bytes of any value
  /// @param options the options of the holds that this handle takes
  /// @errors `misconfigured` (the message contains the invalid name or option), `unsupported` (the
  /// backend has no readers, see `Capabilities::shared_mode`, or cannot reserve a name, see
  /// `Capabilities::min_hold`), `closed`
  [[nodiscard]] Lock make_lock(std::string_view name, const LockOptions& options);
  [[nodiscard]] Lock make_lock(std::string_view name) { return make_lock(name, LockOptions()); }

  /// Takes a lock, calls a function, and unlocks, even if the function throws. Waits for the lock
  /// without limit.
  ///
  /// @param name as for `make_lock()`
  /// @param body the function, called in this thread with `Guard&` (for the token and the loss) or
  /// without an argument
  /// @return an optional with the result of `body`; true if `body` returns nothing
  /// @errors as `make_lock()` and `Lock::lock()`, thrown as `Error`; an exception of `body` passes
  /// through
  /// @blocking As `Lock::lock()`, and for as long as `body` takes.
  template <class Body>
  auto with_lock(std::string_view name, Body&& body) {
    return call_with(Guard(*this, name), std::forward<Body>(body));
  }
  /// As above, with the options of the acquisition and of the lock:
  /// `with_lock("orders/42", {.wait = 2s}, ship)`.
  ///
  /// @return an optional with the result of `body`. The optional is empty if the call did not get
  /// the lock in time, or if the wait was stopped. In both cases, `body` was not called. If `body`
  /// returns nothing, the result is a bool: true if `body` was called. A `body` that returns a bool
  /// does not compile
  template <class Body>
  [[nodiscard]] auto with_lock(std::string_view name, const AcquireOptions& options, Body&& body) {
    return call_with(Guard(*this, name, options), std::forward<Body>(body));
  }
  template <class Body>
  [[nodiscard]] auto with_lock(std::string_view name, const AcquireOptions& options,
                               const LockOptions& lock, Body&& body) {
    return call_with(Guard(*this, name, options, lock), std::forward<Body>(body));
  }

  /// Makes a handle for readers and a handle for writers on one name. Contacts no server.
  ///
  /// @param name, options as for `make_lock()`; each handle has its own mode
  /// @errors as `make_lock()`
  [[nodiscard]] ReadWriteLock make_read_write_lock(std::string_view name,
                                                   const LockOptions& options);
  [[nodiscard]] ReadWriteLock make_read_write_lock(std::string_view name) {
    return make_read_write_lock(name, LockOptions());
  }

  /// Makes a handle on a semaphore. Contacts no server.
  ///
  /// @param name 1 to 512 bytes of any value; a semaphore and a lock of the same name are
  /// independent
  /// @param permits the number of permits, 1 to 10,000; the same in every process
  /// @param options the options of each permit. `mode` and `min_hold` must have their defaults
  /// @errors `misconfigured` (the message contains the invalid name, number or option),
  /// `unsupported` (the backend has no semaphores: `Capabilities::permits`), `closed`
  [[nodiscard]] Semaphore make_semaphore(std::string_view name, std::uint32_t permits,
                                         const LockOptions& options = {});

  /// Makes a handle on a key that runs once. Contacts no server.
  ///
  /// @param key 1 to 512 bytes of any value; a key and a lock of the same name are independent
  /// @param options the options of the runs that this handle begins
  /// @errors `misconfigured` (the message contains the invalid key or option), `unsupported` (the
  /// backend cannot remember keys: `Capabilities::once`), `closed`
  [[nodiscard]] Once make_once(std::string_view key, const OnceOptions& options = {});

  /// Connects if necessary. Then asks the backend whether this client can take and release locks,
  /// with the shortest lease of the client's handles.
  /// @param wait the longest wait, > 0
  /// @errors `unavailable`, `denied`, `misconfigured`, `unsupported`, `exhausted`, `protocol`,
  /// `closed`
  /// @blocking At most `wait`.
  void check(std::chrono::nanoseconds wait = std::chrono::seconds(5));
  /// As above without exceptions.
  void check(std::error_code& ec) { check(std::chrono::seconds(5), ec); }
  void check(std::chrono::nanoseconds wait, std::error_code& ec);
  /// As `check()`, without a thread that waits: see `Pending`. A handler gets an empty `Failure` if
  /// this client can take locks.
  [[nodiscard]] Pending<Failure> check_async(
      std::chrono::nanoseconds wait = std::chrono::seconds(5));

  /// For `Drive::program`: a descriptor for the event loop of the program (epoll, libuv, Qt). The
  /// program calls `poll()` whenever the descriptor is readable. The descriptor stays the same, and
  /// belongs to the client.
  ///
  /// @return the descriptor; -1 with `Drive::threads`, and in a forked child
  [[nodiscard]] int descriptor() const noexcept;
  /// For `Drive::program`: does the work of the client that is due, and then runs handlers. Never
  /// waits. If handlers are left, the descriptor stays readable. Callbacks of `Lock::lost()` and
  /// the observer run inside this call as well. A call from inside a handler runs no handler.
  ///
  /// @param at_most the largest number of handlers that the call runs
  /// @return how many handlers ran; 0 with `Drive::threads`, and in a forked child
  /// @thread_safety One thread at a time runs handlers. A second thread returns 0.
  std::size_t poll(std::size_t at_most = 256) noexcept;

  /// @return the properties of the backend; some are `unknown` before the first connection.
  [[nodiscard]] Capabilities capabilities() const;

  /// Returns the names that this client holds or waits for. For each name, the snapshot has the age
  /// of the hold, the number of waiting threads, and the reason of failed renewals. The client
  /// reads only its own memory, so the call works while the store is down.
  ///
  /// @return see `Snapshot`; empty after `close()`, and in a forked child
  /// @blocking Sends no request. The cost grows with the number of names that the client holds or
  /// waits for.
  [[nodiscard]] Snapshot snapshot() const;
  /// Makes a function that returns the current `snapshot()`. Another thread can call the function
  /// to read metrics. The function may outlive the client. After the client has ended, the function
  /// returns an empty snapshot.
  [[nodiscard]] std::function<Snapshot()> snapshot_source() const;

  /// For administrators: returns one page of the names that are held. `ListOptions::mode` selects
  /// locks, semaphores or keys. To get the next page, pass `NamePage::cursor` as
  /// `ListOptions::cursor`. The cursor of the last page is empty. The store needs little time for a
  /// page, so a listing does not delay other clients.
  ///
  /// A name that is held during the whole listing appears at least once. On every store except
  /// Redis (see docs/stores/redis.md), such a name appears exactly once. A name that is taken or
  /// freed during the listing may be missing.
  /// @param prefix the first bytes of each name, up to 512 bytes of any value; empty means all
  /// names
  /// @param options see `ListOptions`
  /// @errors `misconfigured` (the message names the option, prefix or cursor), `unsupported`
  /// (`Capabilities::lists`, or the store has no semaphores or no keys), `unavailable`, `denied`
  /// (listing needs its own permissions, see the page of the store), `protocol`, `exhausted`,
  /// `closed`
  /// @blocking At most `ListOptions::wait`.
  [[nodiscard]] NamePage list(std::string_view prefix = {}, const ListOptions& options = {}) const;
  /// As above without exceptions. The page is empty if `ec` is set.
  [[nodiscard]] NamePage list(std::string_view prefix, const ListOptions& options,
                              std::error_code& ec) const;

  /// For administrators: returns the holders and the waiters of one name. `QueueOptions::mode`
  /// selects a lock, a semaphore or a key. A lock, a semaphore and a key can have the same name.
  /// Each of the three has its own queue.
  ///
  /// @param name 1 to 512 bytes of any value
  /// @param options see `QueueOptions`
  /// @return the state at some moment during the call
  /// @errors as `list()`; `unsupported` depends on `Capabilities::queues`
  /// @blocking At most `QueueOptions::wait`.
  [[nodiscard]] NameQueue queue(std::string_view name, const QueueOptions& options = {}) const;
  /// As above without exceptions. The queue is empty if `ec` is set.
  [[nodiscard]] NameQueue queue(std::string_view name, const QueueOptions& options,
                                std::error_code& ec) const;

  /// For administrators: ends the holds of a lock, including holds of this client. With
  /// `ForceOptions::mode`, the call ends one permit of a semaphore, or the run of a key. Every
  /// later token is larger. The holder's `lost()` fires at its next renewal at the latest. Until
  /// then, only a store that checks tokens refuses the writes of that holder.
  ///
  /// A key stays pending. The next caller, or the first waiter, runs the key with a `Run::number()`
  /// that is one larger. The former runner can no longer record an outcome.
  ///
  /// The call first asks which holds there are, and then ends exactly these holds. A client that
  /// takes the name in the meantime keeps it.
  /// @param name 1 to 512 bytes of any value
  /// @param options the hold to end, and how long to wait
  /// @return the holders whose holds were ended: one for each reader of a shared lock. Empty if the
  /// call found no hold, or if it found a hold other than `ForceOptions::of`
  /// @errors as `list()`; `unsupported` depends on `Capabilities::forces`. `misconfigured`: a
  /// permit without its token. `unavailable`: nothing was ended. `in_doubt`: not every answer came,
  /// so the holds that the call found may or may not have ended; or the name had more holds than
  /// one look shows, so call again. The call never ends another hold
  /// @blocking At most `ForceOptions::wait`.
  std::vector<Holder> force_release(std::string_view name, const ForceOptions& options = {});
  /// As above without exceptions. If `ec` is set, the result has only the holders whose holds are
  /// known to have ended.
  std::vector<Holder> force_release(std::string_view name, const ForceOptions& options,
                                    std::error_code& ec);

  /// Ends the client. Waiting calls return with `closed`. The client releases its holds at the
  /// server if the server answers. If the `LockOptions::min_hold` of a hold has not elapsed, the
  /// store keeps the name reserved until then. Every hold counts as lost. `lost()` fires for each
  /// hold. Every later acquisition fails with `closed`.
  ///
  /// After the call, `unlock()` and destructors report no error. A second call returns when the
  /// first call has ended. A callback of the client may call `close()`. If another thread is
  /// already closing the client, the call from the callback returns at once.
  /// @blocking At most two command timeouts, about 2 s.
  void close() noexcept;
  /// As `close()`, without a thread that waits: see `Pending`. With `Drive::program`, calls of
  /// `poll()` close the client. The last of them may block for a command timeout if the store does
  /// not answer. If the destructor of the client comes first, it does the rest.
  [[nodiscard]] Pending<Closed> close_async();
  /// @return true if `close()` or `close_async()` has ended, and in a forked child.
  [[nodiscard]] bool is_closed() const noexcept;

 private:
  friend class Guards;

  template <class Body>
  static auto call_with(Guard guard, Body&& body) {
    if constexpr (std::is_invocable_v<Body, Guard&>) {
      return result_of(guard, [&] { return std::forward<Body>(body)(guard); });
    } else {
      static_assert(std::is_invocable_v<Body>,
                    "Mortise: the function of with_lock() takes mortise::Guard&, or nothing");
      return result_of(guard, [&] { return std::forward<Body>(body)(); });
    }
  }
  template <class Call>
  static auto result_of(const Guard& guard, Call call) {
    using Result = std::invoke_result_t<Call>;
    if constexpr (std::is_void_v<Result>) {
      if (guard) call();
      return static_cast<bool>(guard);
    } else {
      static_assert(!std::is_same_v<std::remove_cvref_t<Result>, bool>,
                    "Mortise: with_lock() returns an optional, so `if (client.with_lock(...))` "
                    "would be true for a function that returns false. Return void, or another "
                    "type than bool, or use a Guard");
      return guard ? std::optional<Result>(call()) : std::nullopt;
    }
  }

  void end() noexcept;

  std::shared_ptr<runtime::ClientState> state_;
};

}  // namespace mortise
