// SPDX-License-Identifier: MIT
// The connections for statements: few, opened when those that there are have something to do.
#pragma once

#include "postgres/connection.hpp"
#include "remote/last_failure.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace mortise::postgres {

/// What is under way for one name goes by one connection, so that it arrives in order. One is
/// enough for a program that does one thing at a time, and two for most others.
/// @thread_safety every member may be called concurrently.
class Pool {
 public:
  using Make = std::function<std::unique_ptr<Connection>()>;
  /// @param make the connection; it is attached here
  Pool(Host& host, std::size_t most, Make make);

  struct Choice {
    Connection* connection = nullptr;
    bool tells = false;      ///< of what was freed, already
    bool only_one = false;   ///< it tells, and no other one was up
    std::uint32_t done = 0;  ///< calls that went the same way, and are not under way any more
  };
  /// @return the connection for a call, which counts as under way from now on; null = none is up,
  /// and nothing is counted
  [[nodiscard]] Choice choose(Flight& call);
  /// @return whether a call that waits where it was chosen to go may wait behind nothing but what
  /// tells, which may take long: that came in between, or another connection did, or what it had to
  /// follow was answered.
  [[nodiscard]] bool may_go_elsewhere(const Call& call, const Choice& chosen) const;
  /// @return what waits behind one that tells of what was freed, was not sent, and can go by
  /// another connection; where there is no other one, one is opened
  [[nodiscard]] Flights relieve();
  /// @return whether close() has to wait for one: see Connection::delays_close()
  [[nodiscard]] bool delays_close() const;
  /// The call is no longer under way. A second call of this function does nothing.
  void done(Flight& call);
  /// Has one connect, if none is up. @param now as in Connection::want()
  /// @return as `why_down()`
  Failure want(bool now);
  /// @return why none is up; none = one is, or that is not known
  [[nodiscard]] remote::LastFailure& why_down() noexcept { return why_down_; }
  [[nodiscard]] bool up() const;
  /// @return whether one is up, or is stuck and may go on.
  [[nodiscard]] bool stands() const;
  /// @return whether none is up, nor can be: all that there may be are stuck.
  [[nodiscard]] bool all_stuck() const;
  /// @return the processes of the server that serve those that are stuck.
  [[nodiscard]] std::vector<std::int64_t> stuck_processes() const;
  /// Of those processes these live; the others have gone without a word.
  void keep_stuck(const std::vector<std::int64_t>& asked_for,
                  const std::vector<std::int64_t>& living);
  /// @return whether that is one of them.
  [[nodiscard]] bool has(const Connection& connection) const;
  /// Closes those that nobody has used since this was called last, but for one. @return whether
  /// there are still several, or one that is stuck
  bool tidy();
  /// Does that to all that are up.
  void request(Connection::Request request) noexcept;
  /// @return all of them, for whoever polls them.
  [[nodiscard]] std::vector<Source*> sources() const;
  /// Detaches and closes all. @return the calls that were not answered
  [[nodiscard]] Flights close() noexcept;

 private:
  struct Way {
    Connection* connection = nullptr;
    std::size_t calls = 0;
    std::uint32_t done = 0;
  };
  [[nodiscard]] std::size_t way_of(const std::string& name) const;
  [[nodiscard]] Connection& open_locked();
  void add_one_locked();
  [[nodiscard]] Connection* least_busy_locked(const Call& call);
  [[nodiscard]] bool another_is_up_locked() const;

  Host& host_;
  const std::size_t most_;
  const Make make_;
  mutable std::mutex mutex_;
  bool closed_ = false;
  remote::LastFailure why_down_;
  Connection* ringing_ = nullptr;  // tells of what was freed, which may take long
  std::vector<std::unique_ptr<Connection>> all_;
  // By the hash of the name: names that share one go the same way while both have calls.
  std::array<Way, 1024> ways_{};
};

}  // namespace mortise::postgres
