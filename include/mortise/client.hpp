// SPDX-License-Identifier: MIT
// The door to one backend: owns its connections and threads, and makes locks.
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
#include <mortise/read_write_lock.hpp>
#include <mortise/semaphore.hpp>
#include <mortise/snapshot.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

/// Distributed locks: one `Lock`, the same meaning on every store.
namespace mortise {

class Backend;
namespace runtime {
class ClientState;
}

/// One client of one backend. Make one for a process and share it.
///
/// Threads are started when they are first needed: one in the background (renewals, timers,
/// pushes), and those that deliver losses and notifications. A client must not be used by a forked
/// child: there every call fails with `closed` (see `Errc::closed`), and the child keeps no lock
/// alive.
/// @thread_safety every member may be called concurrently, except destruction and move. No member
/// but `close()` may be called on a moved-from client, which is closed (asserted).
class MORTISE_API Client {
 public:
  /// Opens a URL. Reads text only (`file:`: its directory too), so that a service starts while its
  /// store is down; `check()` connects.
  ///
  /// Schemes: `memory:`, `file:`, `redis:`, `redis+unix:`, `redis+sentinel:`, `redis+cluster:` (by
  /// TLS `rediss...`), `redlock:`, `redlocks:`, `redlock+unix:`, `zookeeper:`, `zookeeper+tls:`,
  /// `postgresql:`; see docs/ for their parameters. From `mortise::mortise`, which knows them all.
  /// @param url the backend; its password never appears in a message
  /// @param options see `ClientOptions`
  /// @errors `misconfigured` (scheme, host, parameter: the message names it), `unsupported` (a
  /// scheme that this build does not have), thrown as `Error`
  explicit Client(std::string_view url, ClientOptions options = {});
  /// Uses a backend that was made by its factory, such as `mortise::file::backend(url)`, or your
  /// own.
  ///
  /// @errors `misconfigured` (a null backend, an impossible option)
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
  /// The same with the message: `failure.words()` names the scheme, host or parameter that is
  /// wrong.
  [[nodiscard]] static std::optional<Client> open(std::string_view url, ClientOptions options,
                                                  Failure& failure);
  /// Opens the URL in the environment variable `MORTISE_URL`.
  ///
  /// @errors `misconfigured` (the variable is missing or empty: the message names the variable,
  /// never its value), and as `Client(url)`
  /// @thread_safety no other thread may change the environment meanwhile
  [[nodiscard]] static Client from_env(ClientOptions options = {});
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  /// `close()`.
  ~Client();

  /// Makes a handle on a name; touches no server.
  ///
  /// @param name 1 to 512 bytes of any value
  /// @param options of the holds that are taken by this handle
  /// @errors `misconfigured` (the name or an option: the message names it), `unsupported` (the
  /// backend has no readers: `Capabilities::shared_mode`; it keeps no name for nobody:
  /// `Capabilities::min_hold`), `closed`
  [[nodiscard]] Lock make_lock(std::string_view name, const LockOptions& options = {});

  /// Calls a function while it holds the lock of a name, and frees the lock afterwards, even if the
  /// function throws. Waits for the lock without limit.
  ///
  /// @param name as of `make_lock()`
  /// @param body is called in this thread, with `Guard&` (for its token and its loss) or with
  /// nothing
  /// @return what `body` returns, in an optional; for a `body` without a result: true
  /// @errors as `make_lock()` and `Lock::lock()`, thrown as `Error`; what `body` throws passes
  /// @blocking as `Lock::lock()`, and as long as `body` takes
  template <class Body>
  auto with_lock(std::string_view name, Body&& body) {
    return call_with(Guard(*this, name), std::forward<Body>(body));
  }
  /// The same with options: `with_lock("orders/42", {.wait = 2s}, ship)`.
  ///
  /// @param options wait, stop, owner
  /// @param lock as of `make_lock()`
  /// @return what `body` returns, in an optional; empty if the time ran out before the lock
  /// was free, or the wait was stopped: then `body` was not called. For a `body` without a result:
  /// whether it was called. A `body` that returns a bool does not compile
  template <class Body>
  [[nodiscard]] auto with_lock(std::string_view name, const AcquireOptions& options, Body&& body) {
    return call_with(Guard(*this, name, options), std::forward<Body>(body));
  }
  template <class Body>
  [[nodiscard]] auto with_lock(std::string_view name, const AcquireOptions& options,
                               const LockOptions& lock, Body&& body) {
    return call_with(Guard(*this, name, options, lock), std::forward<Body>(body));
  }

  /// Makes a reader's and a writer's handle on a name; touches no server.
  ///
  /// @param name, options as those of `make_lock()`; the mode is that of each handle
  /// @errors as `make_lock()`
  [[nodiscard]] ReadWriteLock make_read_write_lock(std::string_view name,
                                                   const LockOptions& options = {});

  /// Makes a handle on a semaphore; touches no server.
  ///
  /// @param name 1 to 512 bytes of any value; not in the space of the locks' names
  /// @param permits how many there are, 1 to 10,000; the same in every process
  /// @param options of the permits, as of a lock's holds; `mode` and `min_hold` are a lock's alone
  /// @errors `misconfigured` (the name, the number or an option: the message names it),
  /// `unsupported` (the backend has none: `Capabilities::permits`), `closed`
  [[nodiscard]] Semaphore make_semaphore(std::string_view name, std::uint32_t permits,
                                         const LockOptions& options = {});

  /// Makes a handle on a key that is run once; touches no server.
  ///
  /// @param key 1 to 512 bytes of any value; not in the space of the locks' names
  /// @param options of the runs that are begun by this handle
  /// @errors `misconfigured` (the key or an option: the message names it), `unsupported` (the
  /// backend has no memory: `Capabilities::once`), `closed`
  [[nodiscard]] Once make_once(std::string_view key, const OnceOptions& options = {});

  /// Connects, if need be, and asks the backend whether locks can be taken and given back, with the
  /// shortest lease of this client's handles.
  /// @param wait the longest wait, > 0
  /// @errors `unavailable`, `denied`, `misconfigured`, `unsupported`, `exhausted`, `protocol`,
  /// `closed`
  /// @blocking at most `wait`
  void check(std::chrono::nanoseconds wait = std::chrono::seconds(5));
  /// The same without exceptions.
  void check(std::error_code& ec) { check(std::chrono::seconds(5), ec); }
  void check(std::chrono::nanoseconds wait, std::error_code& ec);

  /// @return what the backend promises; some answers are `unknown` before the first connection.
  [[nodiscard]] Capabilities capabilities() const;

  /// What this client holds and waits for, from its own memory: which names, since when, how many
  /// threads wait for each, and why renewals fail. Works while the store is down.
  ///
  /// @return see `Snapshot`; empty after `close()`, and in a forked child
  /// @blocking for no request; its cost grows with the number of names that are held or waited for
  [[nodiscard]] Snapshot snapshot() const;
  /// Makes a function that returns what `snapshot()` would. The function may outlive the client,
  /// and returns an empty snapshot then. For metrics that are read by another thread.
  [[nodiscard]] std::function<Snapshot()> snapshot_source() const;

  /// For administrators: names that are held, one page of them, without keeping the store from
  /// others: of locks, of semaphores, or of keys that are run, by `ListOptions::mode`. Go on with
  /// `NamePage::cursor` until it is empty.
  ///
  /// A name that is held all the while is in one page at least, and in no other but where
  /// the backend's page says so (Redis). One that is taken or freed meanwhile may be there or not.
  /// @param prefix what each name begins with, of any bytes, up to 512; empty = all
  /// @param options see `ListOptions`
  /// @errors `misconfigured` (an option, a prefix or a cursor that cannot be: the message names
  /// it), `unsupported` (`Capabilities::lists`; the store has no semaphores or no keys),
  /// `unavailable`, `denied` (listing needs rights of its own: see the backend's page), `protocol`,
  /// `exhausted`, `closed`
  /// @blocking at most `ListOptions::wait`
  [[nodiscard]] NamePage list(std::string_view prefix = {}, const ListOptions& options = {}) const;
  /// The same without exceptions; an empty page where `ec` is set.
  [[nodiscard]] NamePage list(std::string_view prefix, const ListOptions& options,
                              std::error_code& ec) const;

  /// For administrators: who holds and who waits for a lock, for permits, or for a key, by
  /// `QueueOptions::mode`. One name can be all three, and each has a queue of its own.
  ///
  /// @param name 1 to 512 bytes of any value
  /// @param options see `QueueOptions`
  /// @return what was so at some moment during the call
  /// @errors as `list()`; `unsupported` goes by `Capabilities::queues`
  /// @blocking at most `QueueOptions::wait`
  [[nodiscard]] NameQueue queue(std::string_view name, const QueueOptions& options = {}) const;
  /// The same without exceptions; an empty queue where `ec` is set.
  [[nodiscard]] NameQueue queue(std::string_view name, const QueueOptions& options,
                                std::error_code& ec) const;

  /// For administrators: takes a lock from all who hold it, this client included; or ends one
  /// permit of a semaphore, or the run of a key, by `ForceOptions::mode`. Every later token is
  /// larger. The holder's `lost()` fires at its next renewal at the latest. Until then, only a
  /// store that checks tokens refuses what the holder does.
  ///
  /// A key stays pending: the next caller, or the first waiter, runs it with `Run::number()` one
  /// larger, and the former runner can no longer record an outcome.
  ///
  /// @param name 1 to 512 bytes of any value
  /// @param options which hold, and how long to wait
  /// @return whose holds were ended, of several readers the first; empty = none, or not those meant
  /// @errors as `list()`; `unsupported` goes by `Capabilities::forces`. `misconfigured`: a permit
  /// without its token. `in_doubt`: no answer came; the hold may have been ended, and no other has
  /// been
  /// @blocking at most `ForceOptions::wait`
  std::vector<Holder> force_release(std::string_view name, const ForceOptions& options = {});
  /// The same without exceptions.
  std::vector<Holder> force_release(std::string_view name, const ForceOptions& options,
                                    std::error_code& ec);

  /// Ends the client: waiters return with `closed`, live holds are released at the server as far as
  /// it answers (or kept, where `LockOptions::min_hold` is not over) and count as lost (`lost()`
  /// fires), every later acquisition fails with `closed`.
  ///
  /// `unlock()` and destructors are silent afterwards. Idempotent: a second call returns when the
  /// first has ended. May be called from a callback, where it waits for no other.
  /// @blocking bounded by two command time-outs
  void close() noexcept;

 private:
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

  std::shared_ptr<runtime::ClientState> state_;
};

}  // namespace mortise
