// SPDX-License-Identifier: MIT
// One server of the quorum, whatever addresses lead to it: the courses of the ballots that it may
// have voted for, and the exchange that decides what it still has to receive.
#pragma once

#include "redlock/ballot.hpp"
#include "redlock/line.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>

namespace mortise::redlock {

/// A vote lies at a server. An address may lead to another server from one connection to the next,
/// and two addresses may lead to one server. A server that was restarted has another identity.
/// @thread_safety every member may be called concurrently
class Server {
 public:
  /// @param id see `server_of()`
  /// @param met when an address led to it for the first time
  Server(const Line::Shared& shared, std::uint64_t id, Instant met);

  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  [[nodiscard]] Instant met() const noexcept { return met_; }
  /// @return true once: it was met, and is connected for the first time.
  [[nodiscard]] bool begins() noexcept { return is_new_.exchange(false); }
  /// @return true if an address leads to it now.
  [[nodiscard]] bool is_reachable() const noexcept { return line_.state_of(line_).connection != 0; }
  /// It stands for whichever server the address will lead to.
  void begin_at(const Node& node) noexcept { at_.store(&node); }
  /// @return true if this address led to it last.
  [[nodiscard]] bool was_at(const Node& node) const noexcept { return at_.load() == &node; }
  /// @return true if it may have voted for that ballot, or may vote yet.
  [[nodiscard]] bool may_have(const AttemptId& ballot) const;
  /// @return true if the client has asked it for that ballot, and it has not taken the vote back. A
  /// lost request may still get a vote there, which the exchange takes back.
  [[nodiscard]] bool is_to_answer(const AttemptId& ballot) const;
  /// @return true if a release of that hold was lost on its way.
  [[nodiscard]] bool is_in_doubt(const AttemptId& ballot) const {
    using remote::AttemptCourse;
    return courses_.ask(ballot, &AttemptCourse::state) == AttemptCourse::State::in_doubt;
  }
  /// @return true if something is to be taken back there before `until`.
  [[nodiscard]] bool is_owed(Instant until = never);

  /// Asks it for a vote by that address.
  void ask(const std::shared_ptr<Ballot>& ballot, const Node& node);
  /// Called right before such a request joins the calls that are under way.
  [[nodiscard]] bool admits(const std::shared_ptr<Ballot>& ballot);
  /// It did not vote, and did nothing.
  void refused(const Ballot& ballot);
  /// A majority voted: its vote belongs to a hold.
  void hold(const AttemptId& ballot, std::uint64_t number, Instant until);
  /// Takes the vote back until the server has answered.
  void take_back(const std::shared_ptr<Ballot>& ballot) noexcept;
  /// The same for a vote that this client has not asked it for: it may be a server that was
  /// restarted.
  void take_back_unasked(const std::shared_ptr<Ballot>& ballot);
  /// Has it forget that the attempt waits.
  void end_wait(const std::shared_ptr<Ballot>& ballot) {
    exchange_.submit(redis::Call::of(remote::Purpose::undo, ballot, clock_->now()));
  }
  /// Frees the hold until the server has answered.
  /// @param lease how long the hold would exclude other clients
  /// @param inherited a voter is gone, which this server may have been
  void end(const std::shared_ptr<Ending>& ending, std::chrono::nanoseconds lease, bool inherited);

  /// It took a vote back. @param at by its clock
  void answered_undo(const redis::Call& undo, remote::ServerTime at);
  /// It freed a hold. @return true if an earlier request for that was lost
  bool answered_ending(const Ending& ending, remote::ServerTime at);
  /// The answer to a call made no sense. The connection is dropped afterwards.
  void misread(const redis::Call& call, const Failure& why);

  /// An address leads to it.
  void connected(const Node& node);
  /// An address does not lead to it any more. @param unanswered those that `are_of_exchange()`
  void disconnected(Exchange::Calls unanswered);
  /// It may be that server after a restart, so it receives the releases that are still due there.
  void inherit(Server& from);

  [[nodiscard]] Exchange& exchange() noexcept { return exchange_; }
  /// Calls that wait for room leave.
  void let_leave() { exchange_.let_leave(line_); }

 private:
  void forget_what_is_over();
  void executed(const AttemptId& ballot, remote::ServerTime at);

  const std::shared_ptr<Clock>& clock_;
  const std::uint64_t id_;
  const Instant met_;
  std::atomic<bool> is_new_{true};
  std::atomic<const Node*> at_{nullptr};
  mutable std::mutex mutex_;
  Courses courses_{mutex_};
  Line line_;
  Exchange exchange_;
};

}  // namespace mortise::redlock
