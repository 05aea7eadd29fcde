// SPDX-License-Identifier: MIT
#include "support/proxy_link.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace mortise::test {
namespace {

// Who sends more than this without its being taken has to wait, as on a real network.
constexpr std::size_t most_waiting = std::size_t{1} << 20U;

bool is_script(const std::string& name) { return name == "EVALSHA" || name == "EVAL"; }
bool subscribes(const std::string& name) { return name == "SUBSCRIBE" || name == "PSUBSCRIBE"; }

bool is_message(std::string_view frame) {
  return ProxyFrames::elements(frame) == 3 && ProxyFrames::first_word(frame) == "MESSAGE";
}

ProxyLink::Frames cutter(ProxyProtocol protocol, ProxyFrames::Of redis,
                         PostgresFrames::Of postgres) {
  if (protocol == ProxyProtocol::postgres) return PostgresFrames(postgres);
  if (protocol == ProxyProtocol::zookeeper) return ZooKeeperFrames();
  if (protocol == ProxyProtocol::lines) return LineFrames();
  return ProxyFrames(redis);
}

}  // namespace

void reset_connection(int fd) noexcept {
  // To dissolve a TCP association (connect(2), AF_UNSPEC) sends a reset, whatever is unsent.
  const sockaddr nobody{AF_UNSPEC, {}};
  static_cast<void>(::connect(fd, &nobody, sizeof nobody));
  ::shutdown(fd, SHUT_RDWR);  // a unix socket knows no reset
}

ProxyLink::ProxyLink(base::UniqueFd client, base::UniqueFd server, ProxyNetwork& network,
                     ProxyProtocol protocol)
    : network_(&network),
      client_(std::move(client)),
      server_(std::move(server)),
      protocol_(protocol),
      to_server_(cutter(protocol, ProxyFrames::Of::requests, PostgresFrames::Of::requests)),
      to_client_(cutter(protocol, ProxyFrames::Of::replies, PostgresFrames::Of::replies)) {}

bool ProxyLink::is(ProxyConnections which) const noexcept {
  switch (which) {
    case ProxyConnections::all: return true;
    case ProxyConnections::commands: return !inbox_;
    case ProxyConnections::inboxes: return inbox_;
    case ProxyConnections::scripts: return scripts_;
  }
  return false;
}

void ProxyLink::release_held() {
  holding_ = false;
  held_bytes_ = 0;
  for (std::string& frame : std::exchange(held_, {})) forward_request(std::move(frame));
}

void ProxyLink::cut() {
  if (std::exchange(cut_, true)) return;
  ++network_->counts.cuts;
  reset_connection(client_.get());
  reset_connection(server_.get());
  client_.reset();
  server_.reset();
}

bool ProxyLink::over() const noexcept {
  return cut_ || (to_server_.input_over && to_server_.output_over && to_client_.input_over &&
                  to_client_.output_over);
}

bool ProxyLink::takes(const Lane& lane) const noexcept {
  const std::size_t waiting = lane.bytes + (&lane == &to_server_ ? held_bytes_ : 0);
  return !lane.input_over && waiting < most_waiting;
}

ProxyLink::Clock::time_point ProxyLink::due(const Lane& lane) noexcept {
  if (lane.queue.empty() || lane.blocked) return Clock::time_point::max();
  return std::max(lane.queue.front().due, lane.next_byte);
}

ProxyLink::Wanted ProxyLink::wanted() const {
  Wanted out{.client = {-1, 0, 0}, .server = {-1, 0, 0}, .due = Clock::time_point::max()};
  if (still()) return out;
  if (connecting_) {
    out.server = {server_.get(), POLLOUT, 0};
    return out;
  }
  const auto events = [this](const Lane& in, const Lane& back) {
    return static_cast<short>((takes(in) ? POLLIN : 0) | (back.blocked ? POLLOUT : 0));
  };
  // Without an event that is wanted poll() would still tell of a hang-up, again and again.
  if (const short all = events(to_server_, to_client_); all != 0) {
    out.client = {client_.get(), all, 0};
  }
  if (const short all = events(to_client_, to_server_); all != 0) {
    out.server = {server_.get(), all, 0};
  }
  out.due = std::min(due(to_server_), due(to_client_));
  return out;
}

void ProxyLink::work(short client_events, short server_events) {
  if (still() || over()) return;
  if (connecting_) finish_connecting(server_events);
  if (connecting_ || cut_) return;
  const Wanted asked = wanted();
  if (client_events != 0) to_client_.blocked = false;
  if (server_events != 0) to_server_.blocked = false;
  if (client_events != 0 && (asked.client.events & POLLIN) != 0) read(to_server_, client_.get());
  if (server_events != 0 && (asked.server.events & POLLIN) != 0) read(to_client_, server_.get());
  flush(to_server_, server_.get());
  if (!cut_) flush(to_client_, client_.get());
}

void ProxyLink::finish_connecting(short events) {
  if (events == 0) return;
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(server_.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0) {
    cut();
    return;
  }
  connecting_ = false;
}

void ProxyLink::read(Lane& lane, int fd) {
  char buffer[65536];
  const ssize_t size = ::recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
  if (size < 0) {
    if (errno != EAGAIN && errno != EINTR) end_input(lane, true);
    return;
  }
  if (size == 0) {
    end_input(lane, false);
    return;
  }
  const std::string_view bytes(buffer, static_cast<std::size_t>(size));
  std::visit([&](auto& frames) { frames.feed(bytes); }, lane.frames);
  while (!lane.input_over) {
    std::optional<std::string> frame =
        std::visit([](auto& frames) { return frames.next(); }, lane.frames);
    if (!frame) break;
    admit(lane, *std::move(frame));
  }
}

void ProxyLink::end_input(Lane& lane, bool reset) {
  std::string rest = std::visit([](auto& frames) { return frames.rest(); }, lane.frames);
  if (!rest.empty()) {
    if (&lane == &to_server_ && holding_) {
      held_.push_back(std::move(rest));
    } else {
      enqueue(lane, std::move(rest), {});
    }
  }
  // A reset of the server's is passed on. A client's is not: what it has sent is on its way.
  if (reset && &lane == &to_client_) enqueue(lane, {}, {}, true);
  lane.input_over = true;
}

void ProxyLink::admit(Lane& lane, std::string frame) {
  if (&lane == &to_client_) {
    forward_reply(std::move(frame));
    return;
  }
  const bool opaque = std::visit([](auto& frames) { return frames.opaque(); }, lane.frames);
  if (protocol_ == ProxyProtocol::postgres) {
    if (request_of(frame) == ProxyRequest::operation) ++network_->counts.commands["OPERATION"];
  } else if (!opaque) {
    ++network_->counts.commands[command_of(frame)];
  }
  if (!holding_) {
    forward_request(std::move(frame));
    return;
  }
  held_bytes_ += frame.size();
  held_.push_back(std::move(frame));
}

std::string ProxyLink::command_of(std::string_view frame) const {
  if (protocol_ == ProxyProtocol::postgres) return {};  // has no names
  if (protocol_ == ProxyProtocol::zookeeper) return ZooKeeperFrames::command(frame);
  if (protocol_ == ProxyProtocol::lines) return LineFrames::command(frame);
  return ProxyFrames::first_word(frame);
}

ProxyRequest ProxyLink::request_of(std::string_view frame) const {
  if (protocol_ == ProxyProtocol::postgres) return PostgresFrames::kind_of_request(frame);
  if (protocol_ == ProxyProtocol::zookeeper) return ZooKeeperFrames::kind_of_request(frame);
  if (protocol_ == ProxyProtocol::lines) return LineFrames::kind_of_request(frame);
  const std::string name = ProxyFrames::first_word(frame);
  return is_script(name)    ? ProxyRequest::operation
         : subscribes(name) ? ProxyRequest::subscription
                            : ProxyRequest::other;
}

bool ProxyLink::is_push(std::string_view frame) const {
  if (protocol_ == ProxyProtocol::postgres) return PostgresFrames::is_push(frame);
  if (protocol_ == ProxyProtocol::zookeeper) return ZooKeeperFrames::is_push(frame);
  if (protocol_ == ProxyProtocol::lines) return LineFrames::is_push(frame);
  return inbox_ && is_message(frame);
}

// Whether it answers no request, or none that is counted.
bool ProxyLink::is_greeting(std::string_view frame) const {
  if (protocol_ == ProxyProtocol::zookeeper) return ZooKeeperFrames::is_greeting(frame);
  if (protocol_ == ProxyProtocol::lines) return LineFrames::is_greeting(frame);
  return protocol_ == ProxyProtocol::postgres && PostgresFrames::is_greeting(frame);
}

// Counts an operation that may be the one at which the connection is to end.
bool ProxyLink::is_cut(std::string_view frame, ProxyMoment at) {
  std::optional<ProxyCut>& cut = network_->faults.cut;
  if (!cut || cut->at != at || (!cut->command.empty() && cut->command != command_of(frame))) {
    return false;
  }
  if (--cut->left > 0) return false;
  cut.reset();
  return true;
}

std::int32_t ProxyLink::refusal_of(std::string_view frame) {
  if (protocol_ != ProxyProtocol::zookeeper) return 0;
  const auto found = network_->faults.refusals.find(command_of(frame));
  return found == network_->faults.refusals.end() ? 0 : found->second;
}

// What a reply answers: ZooKeeper says it by a number, the others answer in order.
std::optional<ProxyLink::Awaited> ProxyLink::answered_by(std::string_view reply) {
  const std::int32_t number =
      protocol_ == ProxyProtocol::zookeeper ? ZooKeeperFrames::number(reply) : 0;
  const auto found = std::find_if(awaited_.begin(), awaited_.end(),
                                  [&](const Awaited& one) { return one.number == number; });
  if (found == awaited_.end()) return std::nullopt;
  const Awaited out = *found;
  awaited_.erase(found);
  return out;
}

void ProxyLink::forward_request(std::string frame) {
  const ProxyRequest request = request_of(frame);
  const bool operation = request == ProxyRequest::operation;
  const ProxyDelay delay = network_->faults.to_server;
  const bool doomed = operation && is_cut(frame, ProxyMoment::reply);
  if (operation &&
      (is_cut(frame, ProxyMoment::request) || network_->happens(network_->faults.lose_request))) {
    ++network_->counts.lost_requests;
    enqueue(to_server_, {}, delay, true);
    return;
  }
  std::optional<std::string>& instead = network_->faults.instead;
  if (operation && instead && network_->faults.before_instead-- == 0) {
    frame = *std::exchange(instead, std::nullopt);
  }
  inbox_ = inbox_ || request == ProxyRequest::subscription;
  scripts_ = scripts_ || operation;
  if (request != ProxyRequest::greeting) {
    const bool numbered = protocol_ == ProxyProtocol::zookeeper;
    const std::int32_t error = refusal_of(frame);
    awaited_.push_back({numbered ? ZooKeeperFrames::number(frame) : 0, operation, doomed, error});
    if (error != 0) frame = ZooKeeperFrames::harmless(frame);
  }
  enqueue(to_server_, std::move(frame), delay);
}

void ProxyLink::forward_reply(std::string frame) {
  ProxyReplies kind = ProxyReplies::any;
  bool doomed = false;
  if (is_push(frame)) {
    kind = ProxyReplies::pushes;
  } else if (!is_greeting(frame)) {
    const std::optional<Awaited> awaited = answered_by(frame);
    if (awaited && awaited->operation) kind = ProxyReplies::scripts;
    doomed = awaited && awaited->doomed;
    if (awaited && awaited->error != 0) {
      frame = ZooKeeperFrames::refused(frame, awaited->error);
      ++network_->counts.refusals;
    }
  }
  const bool push = kind == ProxyReplies::pushes;
  ProxyDelay delay = network_->faults.to_client;
  if (push) {
    ++network_->counts.pushes;
    delay.least += network_->faults.push.least;
    delay.most += network_->faults.push.most;
    if (network_->happens(network_->faults.lose_push)) {
      ++network_->counts.lost_pushes;
      return;
    }
  }
  bool reset = befalls(kind, frame);
  if (doomed || (kind == ProxyReplies::scripts && network_->happens(network_->faults.lose_reply))) {
    ++network_->counts.lost_replies;
    frame.clear();
    reset = true;
  }
  enqueue(to_client_, std::move(frame), delay, reset);
}

// Plays the mishap that waits for a reply of this kind. True: the connection ends with it.
bool ProxyLink::befalls(ProxyReplies kind, std::string& frame) {
  std::optional<ProxyMishap>& mishap = network_->faults.mishap;
  if (!mishap || (mishap->to != ProxyReplies::any && mishap->to != kind)) return false;
  ++network_->counts.mishaps;
  const ProxyMishap now = *std::exchange(mishap, std::nullopt);
  if (!now.cut_after) {
    frame = now.garbage;
    return false;
  }
  frame.resize(std::min(frame.size(), *now.cut_after));
  return true;
}

void ProxyLink::enqueue(Lane& lane, std::string bytes, const ProxyDelay& delay, bool reset) {
  if (lane.output_over || (!lane.queue.empty() && lane.queue.back().reset)) return;
  lane.last_due = std::max(lane.last_due, Clock::now() + network_->draw(delay));
  lane.bytes += bytes.size();
  lane.queue.push_back({std::move(bytes), lane.last_due, reset});
  lane.input_over = lane.input_over || reset;
}

void ProxyLink::flush(Lane& lane, int fd) {
  while (due(lane) <= Clock::now()) {
    if (!send(lane, fd)) return;
    Chunk& chunk = lane.queue.front();
    if (!chunk.bytes.empty()) continue;  // dripping
    const bool reset = chunk.reset;
    lane.queue.pop_front();
    if (reset) {
      cut();
      return;
    }
  }
  const bool all_sent = lane.queue.empty() && (&lane != &to_server_ || held_.empty());
  if (lane.input_over && all_sent && !std::exchange(lane.output_over, true)) {
    ::shutdown(fd, SHUT_WR);
  }
}

// False: nothing more can be sent now, or ever.
bool ProxyLink::send(Lane& lane, int fd) {
  std::string& bytes = lane.queue.front().bytes;
  if (bytes.empty()) return true;
  const auto interval = network_->faults.drip;
  const bool drips = &lane == &to_client_ && interval.count() > 0;
  // From when this byte was due: a proxy that waited for a processor catches up, so a loaded
  // machine does not make the network slower.
  const auto next = due(lane) + interval;
  const ssize_t sent =
      ::send(fd, bytes.data(), drips ? 1 : bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent >= 0) {
    bytes.erase(0, static_cast<std::size_t>(sent));
    lane.bytes -= static_cast<std::size_t>(sent);
    lane.next_byte = drips ? next : Clock::time_point{};
    return true;
  }
  if (errno == EINTR) return true;
  lane.blocked = errno == EAGAIN;
  if (!lane.blocked) {
    // The sink is gone. Its other lane still brings what it had sent, and then its end.
    lane.queue.clear();
    lane.bytes = 0;
    lane.output_over = true;
    if (&lane == &to_server_) lane.input_over = true;
  }
  return false;
}

}  // namespace mortise::test
