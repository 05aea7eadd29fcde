// SPDX-License-Identifier: MIT
// Bytes under way between a process and a server, and how they are lost.
#include "simulation/world/network.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace simulation {
namespace {

constexpr std::uint64_t connection_stream = 3;
/// libpq says that it goes, right before it does.
constexpr std::size_t size_of_a_farewell = 5;

}  // namespace

Connection::Connection(Network& network, Socket& socket, Host& host, ConnectionId id)
    : network_(network),
      socket_(&socket),
      process_(socket.owner()),
      host_(host),
      id_(id),
      random_(Random::of(
          {network.world().seed(), connection_stream, process_.number(), host.number(), id})),
      latency_(random_.spread(network.weather.latency_least, network.weather.latency_most)),
      jitter_(network.weather.jitter) {}

Nanos Connection::under_way() {
  Nanos time = latency_ + random_.between(Nanos(0), jitter_);
  const Weather& weather = network_.weather;
  if (weather.slow_piece > 0 && random_.chance(weather.slow_piece)) {
    time += random_.spread(Nanos(10'000), weather.slowest);
  }
  return time;
}

void Connection::begin() {
  const Nanos parted = network_.parted_until(process_, host_);
  World& world = network_.world();
  const Nanos arrives = std::max(world.now(), parted) + under_way() + under_way();
  up_.stalled_until = down_.stalled_until = parted;
  world.at(arrives, [self = shared_from_this()] { self->opened(); });
}

void Connection::opened() {
  if (socket_ == nullptr) return;  // closed meanwhile: the server never hears of it
  const Nanos stalled = std::max(up_.stalled_until, down_.stalled_until);
  World& world = network_.world();
  if (stalled > world.now()) {
    world.at(stalled, [self = shared_from_this()] { self->opened(); });
    return;
  }
  if (!host_.up()) {
    break_client(ECONNREFUSED);
    return;
  }
  // The kernel accepts also for a process that is stopped.
  socket_->state = Socket::State::connected;
  socket_->changed();
  plan_down();
}

std::size_t Connection::room() const noexcept {
  return network_.weather.window > up_.size ? network_.weather.window - up_.size : 0;
}

std::size_t Connection::send_up(const char* bytes, std::size_t size) {
  const std::size_t sent = std::min(size, room());
  if (sent == 0) return 0;
  const Nanos now = network_.world().now();
  // Now and then a message comes in two pieces.
  const std::size_t half = sent > 1 && random_.below(64) == 0 ? 1 + random_.below(sent - 1) : sent;
  up_.last = std::max(up_.last, now + under_way());
  up_.pieces.push_back({up_.last, std::string(bytes, half)});
  if (half < sent) {
    up_.last += under_way();
    up_.pieces.push_back({up_.last, std::string(bytes + half, sent - half)});
  }
  up_.size += sent;
  plan_up();
  return sent;
}

void Connection::plan_up() {
  if (up_.planned || (up_.pieces.empty() && !end_up_)) return;
  up_.planned = true;
  const Nanos arrives = up_.pieces.empty() ? up_.last : up_.pieces.front().arrives;
  const Nanos when = std::max({arrives, up_.stalled_until, host_.paused_until()});
  network_.world().at(when, [self = shared_from_this()] {
    self->up_.planned = false;
    self->deliver_up();
  });
}

void Connection::deliver_up() {
  const Nanos now = network_.world().now();
  if (up_.stalled_until > now || host_.paused_until() > now || !host_.up()) {
    if (host_.up()) plan_up();
    return;
  }
  const auto keep = shared_from_this();
  const bool full = room() == 0;
  if (gone_) {
    // Whoever has taken the server's place knows nothing of this connection.
    up_.pieces.clear();
    up_.size = 0;
  }
  while (!up_.pieces.empty() && up_.pieces.front().arrives <= now) {
    const std::string bytes = std::move(up_.pieces.front().bytes);
    up_.pieces.pop_front();
    up_.size -= bytes.size();
    if (!server_side_) {
      server_side_ = true;
      host_.server().opened(id_);
    }
    ++host_.requests;
    if (network_.world().tells_bytes) tell(true, bytes);
    host_.server().received(id_, bytes);
    if (!server_side_) return;  // it has hung up
  }
  if (full && socket_ != nullptr && room() > 0) socket_->changed();
  if (up_.pieces.empty() && end_up_ && up_.last <= now) {
    end_up_ = false;
    if (std::exchange(server_side_, false)) host_.server().closed(id_);
    if (socket_ == nullptr) network_.forget(id_);
    return;
  }
  plan_up();
}

void Connection::send_down(std::string_view bytes) {
  if (socket_ == nullptr) return;
  const Nanos now = network_.world().now();
  down_.last = std::max(down_.last, now + host_.work + under_way());
  down_.pieces.push_back({down_.last, std::string(bytes)});
  plan_down();
}

void Connection::plan_down() {
  if (down_.planned || (down_.pieces.empty() && !end_down_)) return;
  down_.planned = true;
  const Nanos arrives = down_.pieces.empty() ? down_.last : down_.pieces.front().arrives;
  network_.world().at(std::max(arrives, down_.stalled_until), [self = shared_from_this()] {
    self->down_.planned = false;
    self->deliver_down();
  });
}

void Connection::deliver_down() {
  if (socket_ == nullptr) return;
  const Nanos now = network_.world().now();
  if (down_.stalled_until > now) {
    plan_down();
    return;
  }
  bool any = false;
  while (!down_.pieces.empty() && down_.pieces.front().arrives <= now) {
    Stretch::Piece& piece = down_.pieces.front();
    if (network_.world().tells_bytes) tell(false, piece.bytes);
    socket_->in.append(piece.bytes);
    if (piece.then) network_.world().after(Nanos(0), std::move(piece.then));
    down_.pieces.pop_front();
    any = true;
  }
  if (socket_->state == Socket::State::connecting) return;  // see opened()
  if (down_.pieces.empty() && std::exchange(end_down_, false) &&
      socket_->state == Socket::State::connected) {
    socket_->state = Socket::State::ended;
    any = true;
  }
  if (any) socket_->changed();
  plan_down();
}

void Connection::client_closed(bool drop) {
  left_ = socket_ != nullptr && socket_->state == Socket::State::connected &&
          up_.size <= size_of_a_farewell;
  socket_ = nullptr;
  down_.pieces.clear();
  // What the process had not yet sent is lost; what was under way arrives before the reset.
  if (drop && random_.chance(0.5)) {
    up_.pieces.clear();
    up_.size = 0;
  }
  if (!server_side_ && up_.pieces.empty()) {
    network_.forget(id_);
    return;
  }
  end_up_ = true;
  up_.last = std::max(up_.last, network_.world().now() + under_way());
  plan_up();
}

void Connection::server_closed() {
  server_side_ = false;
  up_.pieces.clear();
  up_.size = 0;
  end_up_ = false;
  end_down_ = true;
  down_.last = std::max(down_.last, network_.world().now() + under_way());
  if (socket_ == nullptr) {
    network_.forget(id_);
  } else {
    plan_down();
  }
}

void Connection::server_gone() {
  if (socket_ != nullptr && socket_->state == Socket::State::connecting) return;
  server_closed();
  gone_ = true;
}

void Connection::stall(Way way, Nanos until) {
  if (way != Way::down) up_.stalled_until = std::max(up_.stalled_until, until);
  if (way != Way::up) down_.stalled_until = std::max(down_.stalled_until, until);
}

void Connection::flow() {
  for (Stretch* const each : {&up_, &down_}) {
    each->stalled_until = std::min(each->stalled_until, network_.world().now());
    each->planned = false;  // the event of before finds nothing to do
  }
  plan_up();
  plan_down();
}

void Connection::trickle(Nanos gap) {
  flow();
  Nanos next = network_.world().now();
  for (Stretch::Piece& piece : down_.pieces) {
    piece.arrives = std::max(piece.arrives, next);
    next = piece.arrives + gap;
  }
  down_.last = std::max(down_.last, next);
}

void Connection::on_arrival(std::function<void()> then) {
  if (down_.pieces.empty()) {
    network_.world().after(Nanos(0), std::move(then));
    return;
  }
  std::function<void()>& last = down_.pieces.back().then;
  last = last ? [first = std::move(last), then = std::move(then)] { first(), then(); }
              : std::move(then);
}

void Connection::sprung() {
  cut(true);
  if (const auto then = std::exchange(sprung_, nullptr)) then();
}

void Connection::cut(bool deliver) {
  if (socket_ == nullptr || socket_->state == Socket::State::connecting) return;
  ++network_.cuts;
  if (!deliver) {
    up_.pieces.clear();
    up_.size = 0;
  }
  down_.pieces.clear();
  if (server_side_ || !up_.pieces.empty()) {
    end_up_ = true;
    up_.last = std::max(up_.last, network_.world().now());
    plan_up();
  }
  break_client(ECONNRESET);
}

void Connection::tell(bool up, std::string_view bytes) const {
  constexpr std::size_t most = 400;
  std::string text;
  for (const char byte : bytes.substr(0, most)) {
    text += byte == '\n' ? ' ' : byte >= ' ' && byte <= '~' ? byte : byte == '\r' ? ' ' : '.';
  }
  if (bytes.size() > most) text += "...";
  const std::string who = process_.name() + (up ? " => " : " <= ") + host_.name() +
                          ", connection " + std::to_string(id_);
  network_.world().note(who, text);
}

void Connection::break_client(int error) {
  if (socket_ == nullptr) return;
  socket_->state = Socket::State::broken;
  socket_->error = error;
  socket_->changed();
}

}  // namespace simulation
