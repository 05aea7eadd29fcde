// SPDX-License-Identifier: MIT
// The backend inside this process: for users' unit tests, and the model that the others are
// compared with. Its server counts leases, queues waiters, and can be told to misbehave.
#pragma once

#include <mortise/backend.hpp>
#include <mortise/clock.hpp>
#include <mortise/export.hpp>
#include <mortise/holder.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

/// A server inside this process: for unit tests of programs that use locks.
namespace mortise::memory {

/// What a server does wrong, each with a probability of 0 to 1, drawn from `seed`.
struct Faults {
  std::uint64_t seed = 1;
  std::chrono::nanoseconds delay_min{0};  ///< each message takes delay_min to delay_max
  std::chrono::nanoseconds delay_max{0};
  double lose_request = 0;  ///< a request never arrives
  double lose_reply = 0;    ///< the request is executed, its answer is lost
  double lose_push = 0;     ///< a grant to a waiter is lost on its way
};

class Store;

/// A lock server in this process; any number of clients share it.
///
/// Exact semantics: one holder a name; first come first served; a release hands the name to the
/// first waiter with a provisional lease of min(2 s, lease) and tells it by a push; grant numbers
/// are max(last + 1, clock in microseconds) and survive `restart()`.
/// @thread_safety every member may be called concurrently.
class MORTISE_API Server {
 public:
  /// @param clock the server's own clock; empty = the real one
  explicit Server(std::shared_ptr<Clock> clock = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Misbehave from now on.
  void set_faults(const Faults& faults);
  /// Unreachable servers answer nothing; clients see `unavailable`.
  void set_reachable(bool reachable);
  /// Forgets every hold, waiter and key, as a restart without persistence does; keeps grant
  /// numbers.
  void restart();
  /// Forgets one hold, as an administrator's delete does, and tells nobody. A key stays pending.
  void drop(std::string_view name, Mode mode = Mode::exclusive);
  /// @return how many requests were executed so far.
  [[nodiscard]] std::uint64_t requests() const;
  /// @return how many pushes were sent to waiters so far.
  [[nodiscard]] std::uint64_t pushes() const;
  /// @return how many waiters are queued on all names.
  [[nodiscard]] std::size_t waiters() const;
  /// @return who holds a name there, whatever its clients know of it; nothing: nobody.
  [[nodiscard]] std::optional<Holder> holder(std::string_view name,
                                             Mode mode = Mode::exclusive) const;
  /// @return how many keys it remembers, those included that are over and not yet removed.
  [[nodiscard]] std::size_t remembered() const;
  /// @return a client's side of this server.
  [[nodiscard]] std::unique_ptr<Backend> backend();

 private:
  std::shared_ptr<Store> store_;
};

/// Opens the URL `memory:` or `memory:NAME`: clients of one process with the same NAME share a
/// server, which lives as long as one of them.
///
/// @errors `misconfigured`, thrown as `LockError`
[[nodiscard]] MORTISE_API std::unique_ptr<Backend> backend(std::string_view text);

}  // namespace mortise::memory
