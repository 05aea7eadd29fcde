// SPDX-License-Identifier: MIT
// One connection through the proxy: a client, a server, and a lane for each direction in which
// frames queue until they are due. It never blocks and knows no threads; the proxy polls for it.
#pragma once

#include "base/unique_fd.hpp"
#include "support/line_frames.hpp"
#include "support/postgres_frames.hpp"
#include "support/proxy_faults.hpp"
#include "support/proxy_frames.hpp"
#include "support/zookeeper_frames.hpp"

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace mortise::test {

/// Resets a connection at once and for both sides, however many copies of the descriptor forked
/// children may have: closing, and shutdown(2) too, would only say a polite farewell.
void reset_connection(int fd) noexcept;

class ProxyLink {
 public:
  using Clock = std::chrono::steady_clock;
  using Frames = std::variant<ProxyFrames, PostgresFrames, ZooKeeperFrames, LineFrames>;

  /// @param server still connecting, or connected
  ProxyLink(base::UniqueFd client, base::UniqueFd server, ProxyNetwork& network,
            ProxyProtocol protocol = ProxyProtocol::redis);

  [[nodiscard]] bool is(ProxyConnections which) const noexcept;
  /// Half open: nothing moves, and neither side learns that the other has gone.
  void freeze(bool frozen) noexcept { frozen_ = frozen; }
  /// Keeps what the client sends.
  void hold_requests() noexcept { holding_ = true; }
  /// Delivers what was kept, even of a client that has gone.
  void release_held();
  [[nodiscard]] std::size_t held() const noexcept { return held_.size(); }
  /// Resets both sides.
  void cut();

  /// What to poll for (descriptor -1: nothing), and until when at most.
  struct Wanted {
    pollfd client;
    pollfd server;
    Clock::time_point due;
  };
  [[nodiscard]] Wanted wanted() const;
  /// Moves what can be moved, given what poll() has said.
  void work(short client_events, short server_events);
  /// @return whether it is over.
  [[nodiscard]] bool over() const noexcept;

 private:
  struct Chunk {
    std::string bytes;
    Clock::time_point due;
    bool reset = false;  // the connection, once the bytes are gone
  };
  struct Lane {
    explicit Lane(Frames cutter) : frames(std::move(cutter)) {}
    Frames frames;
    std::deque<Chunk> queue;
    std::size_t bytes = 0;  // in the queue
    Clock::time_point last_due{};
    Clock::time_point next_byte{};
    bool input_over = false;   // nothing more is taken from its source
    bool output_over = false;  // nothing more goes to its sink
    bool blocked = false;      // until its sink can be written to
  };

  [[nodiscard]] bool still() const noexcept { return frozen_ || network_->faults.blackhole; }
  [[nodiscard]] bool takes(const Lane& lane) const noexcept;
  [[nodiscard]] static Clock::time_point due(const Lane& lane) noexcept;
  void finish_connecting(short events);
  void read(Lane& lane, int fd);
  void end_input(Lane& lane, bool reset);
  void admit(Lane& lane, std::string frame);
  /// A request without a reply.
  struct Awaited {
    std::int32_t number;  // of a protocol that has such
    bool operation;       // of a lock
    bool doomed;          // its reply ends the connection
    std::int32_t error;   // that its client is told instead of the answer; 0: none
  };
  [[nodiscard]] std::string command_of(std::string_view frame) const;
  [[nodiscard]] ProxyRequest request_of(std::string_view frame) const;
  [[nodiscard]] bool is_cut(std::string_view frame, ProxyMoment at);
  [[nodiscard]] std::int32_t refusal_of(std::string_view frame);
  [[nodiscard]] std::optional<Awaited> answered_by(std::string_view reply);
  [[nodiscard]] bool is_push(std::string_view frame) const;
  [[nodiscard]] bool is_greeting(std::string_view frame) const;
  void forward_request(std::string frame);
  void forward_reply(std::string frame);
  [[nodiscard]] bool befalls(ProxyReplies kind, std::string& frame);
  void enqueue(Lane& lane, std::string bytes, const ProxyDelay& delay, bool reset = false);
  void flush(Lane& lane, int fd);
  [[nodiscard]] bool send(Lane& lane, int fd);

  ProxyNetwork* network_;
  base::UniqueFd client_;
  base::UniqueFd server_;
  const ProxyProtocol protocol_;
  Lane to_server_;
  Lane to_client_;
  std::deque<std::string> held_;
  std::size_t held_bytes_ = 0;
  std::deque<Awaited> awaited_;
  bool connecting_ = true;
  bool inbox_ = false;
  bool scripts_ = false;
  bool frozen_ = false;
  bool holding_ = false;
  bool cut_ = false;
};

}  // namespace mortise::test
