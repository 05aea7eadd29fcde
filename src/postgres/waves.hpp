// SPDX-License-Identifier: MIT
// The statements of one connection: those that are under way, and those that wait for them.
//
// They leave in waves. The calls that come while a wave is under way leave together when that wave
// has its answers, or, if the server is far away, after a moment. The releases of a wave are one
// transaction, and its takes and conclusions another one. So many calls cost one flush of the
// server's log. Each other statement has a transaction of its own. If a statement fails, its
// transaction fails. Then the other statements of that transaction are sent once more, each alone.
#pragma once

#include "postgres/flight.hpp"
#include "postgres/lineage.hpp"
#include "postgres/pq.hpp"
#include "postgres/server_error.hpp"
#include "postgres/statements.hpp"
#include "remote/round_trip.hpp"
#include "remote/server_clock.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

namespace mortise::postgres {

/// The server that a connection leads to.
struct Peer {
  Whereabouts place{};
  remote::ServerClock time{};
  std::uint64_t clock = 0;  ///< which clock that is: no two servers have the same
  remote::RoundTrip round_trips{};
  bool is_pooled = false;  ///< a pooler is in between
};

/// @thread_safety one thread at a time
class Waves {
 public:
  /// @param statements outlive it
  explicit Waves(const Statements& statements) : statements_(statements) {}

  [[nodiscard]] Peer& peer() noexcept { return peer_; }
  [[nodiscard]] const Peer& peer() const noexcept { return peer_; }
  /// @return the connection of libpq; null = there is none.
  [[nodiscard]] std::unique_ptr<Pq>& pq() noexcept { return pq_; }
  /// @return how many calls are not answered.
  [[nodiscard]] std::size_t size() const noexcept { return flights_.size() + queued_.size(); }

  /// @return false: the server has closed the connection. No thread has looked at it since the last
  /// answer, and not a byte would leave
  [[nodiscard]] bool stands(Instant now) const;
  /// A call waits for the next wave. @return true if it is the only one
  bool add(Flights& one);
  /// @return true if the next wave can leave now.
  [[nodiscard]] bool may_send(Instant now) const noexcept;
  /// Takes some of the calls that wait for the next wave.
  template <class Which>
  [[nodiscard]] Flights take_waiting(Which which) {
    Flights taken;
    for (auto each = queued_.begin(); each != queued_.end();) {
      const auto next = std::next(each);
      if (which(*each)) taken.splice(taken.end(), queued_, each);
      each = next;
    }
    return taken;
  }
  /// The next wave leaves. @return false: the connection is of no use
  [[nodiscard]] bool send(Instant now);
  /// Reads what has come. @param is_late its calls count as unanswered
  /// @param done those that are answered @return false: the connection is of no use
  [[nodiscard]] bool receive(bool is_late, Flights& done);
  /// The same is read. @param now our clock
  void heard(const Flights& done, bool is_late, Instant now) noexcept;

  /// @return when an answer is late, or the next wave can leave.
  [[nodiscard]] Instant due() const noexcept;
  /// @return when an answer is late.
  [[nodiscard]] Instant deadline() const noexcept;
  /// @return true if nothing is under way.
  [[nodiscard]] bool is_idle() const noexcept { return flights_.empty(); }
  /// @return true if a notification is under way, and others wait for that alone.
  [[nodiscard]] bool waits_for_a_notification() const noexcept;
  /// @return true if a notification waits, or a request may take what no caller wants any more.
  [[nodiscard]] bool delays_close() const;

  /// The calls under way are late, and stay. @param unanswered copies of them, and those that wait
  /// @param unsent notifications that wait
  void get_stuck(Flights& unanswered, Flights& unsent);
  /// The answers of these could not be passed on: they are unanswered again.
  void put_back(Flights& answered) noexcept { flights_.splice(flights_.begin(), answered); }
  /// The connection ends. @param is_late its calls under way count as unanswered already
  /// @return all others
  [[nodiscard]] Flights end(bool is_late) noexcept;
  /// @return the server's last words, if they contain the reason why the connection ends.
  [[nodiscard]] std::optional<ServerError> last_words(const std::string& where) const;

 private:
  enum class Together : char { none, releases, takes };
  [[nodiscard]] static Together shares(const Flight& call) noexcept;
  [[nodiscard]] bool prepare_keys();
  [[nodiscard]] Flights take_out(Together kind);
  [[nodiscard]] bool send_together(Flights& flights);
  [[nodiscard]] bool take(Result result, bool is_late, Flights& done);
  void take_transaction(bool is_late, Flights& done);
  [[nodiscard]] Instant second_wave() const noexcept;

  const Statements& statements_;
  std::unique_ptr<Pq> pq_;
  Peer peer_;
  Flights flights_;             // of the waves that are under way
  std::size_t first_wave_ = 0;  // how many of them the older one has
  std::size_t results_ = 0;     // that are there of the first transaction
  Flights::iterator latest_;    // whose came last, while there are any
  Instant sent_{};              // the younger wave
  Instant heard_{};
  Flights queued_;  // for the next one
  /// Whether the statements for keys are prepared. Until then they go with their text.
  enum class Prepared : char { no, under_way, yes };
  Prepared keys_ = Prepared::no;
};

}  // namespace mortise::postgres
