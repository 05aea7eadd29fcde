// SPDX-License-Identifier: MIT
// Hosts, their clocks and restarts, and which connections there are.
#include "simulation/world/network.hpp"

#include <algorithm>
#include <utility>

namespace simulation {
namespace {

constexpr std::uint64_t host_stream = 4;

}  // namespace

Host::Host(Network& network, std::uint64_t number, std::string name, std::uint32_t address)
    : network_(network),
      number_(number),
      name_(std::move(name)),
      address_(address),
      random_(Random::of({network.world().seed(), host_stream, number})) {
  clock.offset = std::chrono::hours(24) + Nanos(random_.below(1'000'000'000'000));
}

Nanos Host::wall() const { return wall_ + clock.at(network_.world().now()); }

Nanos Host::uptime() const { return clock.at(network_.world().now()); }

void Host::pause(Nanos until) { paused_until_ = std::max(paused_until_, until); }

void Host::restart(Nanos back_at, bool keeps_data) {
  if (!up_) return;
  up_ = false;
  ++life_;
  // A copy: connections forget themselves.
  const auto all = network_.connections();
  for (const auto& [id, connection] : all) {
    if (&connection->host() == this) connection->server_gone();
  }
  network_.world().at(back_at, [this, keeps_data] {
    up_ = true;
    server_->restarted(keeps_data);
  });
}

void Host::send(ConnectionId connection, std::string_view bytes) {
  if (Connection* const found = network_.find(connection)) found->send_down(bytes);
}

void Host::hang_up(ConnectionId connection) {
  if (Connection* const found = network_.find(connection)) found->server_closed();
}

void Host::after(Nanos delay, std::function<void()> then) {
  network_.world().after(clock.in_world(delay),
                         [this, life = life_, then = std::move(then)] { call_back(life, then); });
}

void Host::call_back(std::uint64_t life, const std::function<void()>& then) {
  if (life != life_) return;
  World& world = network_.world();
  if (paused_until_ > world.now()) {
    world.at(paused_until_, [this, life, then] { call_back(life, then); });
    return;
  }
  then();
}

void Host::note(std::string_view words) { network_.world().note(name_, words); }

Host& Network::host(std::string name) {
  const std::uint64_t number = hosts_.size();
  // 10.0.0.1, 10.0.0.2 ...
  const auto address = static_cast<std::uint32_t>((10U << 24U) + 1 + number);
  hosts_.push_back(std::make_unique<Host>(*this, number, std::move(name), address));
  return *hosts_.back();
}

Host* Network::at(std::uint32_t address, std::uint16_t /*port*/) noexcept {
  const auto found = std::find_if(hosts_.begin(), hosts_.end(),
                                  [&](const auto& host) { return host->address() == address; });
  return found == hosts_.end() ? nullptr : found->get();
}

Connection* Network::find(ConnectionId id) noexcept {
  const auto found = connections_.find(id);
  return found == connections_.end() ? nullptr : found->second.get();
}

std::shared_ptr<Connection> Network::open(Socket& socket, Host& host) {
  const auto led = led_.find({socket.owner().number(), host.number()});
  Host& there = led == led_.end() ? host : *led->second;
  auto made = std::make_shared<Connection>(*this, socket, there, ++last_id_);
  connections_.emplace(made->id(), made);
  made->begin();
  return made;
}

void Network::part(const Process& process, const Host& host, Nanos until, Connection::Way way) {
  Nanos& parted = parted_[{process.number(), host.number()}];
  parted = std::max(parted, until);
  for (const auto& [id, connection] : connections_) {
    if (&connection->process() == &process && &connection->host() == &host) {
      connection->stall(way, until);
    }
  }
}

void Network::lead_elsewhere(const Process& process, const Host& host, Host* elsewhere) {
  if (elsewhere == nullptr) {
    led_.erase({process.number(), host.number()});
  } else {
    led_[{process.number(), host.number()}] = elsewhere;
  }
}

Nanos Network::parted_until(const Process& process, const Host& host) const noexcept {
  const auto found = parted_.find({process.number(), host.number()});
  return found == parted_.end() ? Nanos(0) : found->second;
}

}  // namespace simulation
