// SPDX-License-Identifier: MIT
// The calls of one session: its requests, which leave in order, and the receivers of their replies.
// Pure: it sends nothing, and the time is an argument.
#pragma once

#include <mortise/clock.hpp>

#include "zookeeper/request.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace mortise::zookeeper {

class Calls {
 public:
  /// Receives the reply to one request; may be empty.
  using Answer = std::function<void(const Reply&)>;
  struct Call {
    Request request{};
    Answer answer{};
    Instant asked{};                 ///< when it left
    Instant known{};                 ///< what it proves if it is a write, and committed
    bool is_in_sync = false;         ///< its reply means nothing without the sync right before it
    std::optional<Reply> refusal{};  ///< of that sync

    void tell(const Reply& reply) const {
      if (answer) answer(refusal && !is_lost(reply.code) ? *refusal : reply);
    }
  };
  /// The memory of a client whose server stands still has a bound. A pulse waits behind the other
  /// requests, so the bound is high: with 512 and a round trip of 150 ms, 10,000 waiters delay it by
  /// three seconds.
  static constexpr std::size_t most_under_way = 4'096;

  void add(Request request, Answer answer, bool is_in_sync = false);
  /// The first ones leave, as long as there is room.
  /// @param known see `Life::known()`
  /// @param send gets the request and its number. It returns false if the request cannot be sent
  template <class Send>
  void let_leave(Instant now, Instant known, Send send) {
    while (under_way_ < most_under_way && left_ < added_) {
      Call& next = calls_.find(left_ + 1)->second;
      next.asked = now;
      next.known = known;
      const bool is_sent = send(std::as_const(next.request), left_ + 1);
      ++left_;
      ++under_way_;
      if (!is_sent) take(left_, {})->tell({});
    }
  }
  /// Those that have left are on their way to the server.
  void flushed(Instant now) noexcept {
    // Not from when they were asked for: if the process stood still before they left, that is not
    // the server's silence.
    if (silent_since_ == never && under_way_ > 0) silent_since_ = now;
  }
  /// A reply came. @return the call; nothing: the client does not know it
  [[nodiscard]] std::optional<Call> take(std::uint64_t number, const Reply& reply);
  /// The server has executed a request, or refused it for good.
  void heard(Instant now) noexcept { silent_since_ = under_way_ > 0 ? now : never; }
  /// @return when the server has owed a reply for so long, and given none; never: it owes none. A
  /// connection that delivers replies is alive, even if the oldest request is late. A server may
  /// need long for many requests.
  [[nodiscard]] Instant silent_for(std::chrono::nanoseconds patience) const noexcept {
    return silent_since_ == never ? never : silent_since_ + patience;
  }
  /// The connection is lost, and no reply comes any more: all calls are answered so.
  void drain(Code code);
  /// The next session may be at other servers.
  void forget_servers() noexcept { has_containers_ = true; }
  [[nodiscard]] bool empty() const noexcept { return calls_.empty(); }

 private:
  std::map<std::uint64_t, Call> calls_;
  std::uint64_t added_ = 0;  // the number of the last one
  std::uint64_t left_ = 0;   // the number of the last one that has left
  std::size_t under_way_ = 0;
  Instant silent_since_ = never;  // the server owes a reply, and gave none; never: it owes none
  bool has_containers_ = true;    // the servers know such nodes
};

}  // namespace mortise::zookeeper
