// SPDX-License-Identifier: MIT
// The network between processes and servers: connections, each of which is slow, stalls and breaks
// by itself, so that two connections of one client overtake each other.
#pragma once

#include "simulation/server.hpp"
#include "simulation/world/descriptor.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace simulation {

class Host;
class Network;
class Connection;

/// The client's end of a connection.
class Socket final : public Descriptor {
 public:
  Socket(Process& owner, Network& network) : Descriptor(owner), network_(network) {}
  [[nodiscard]] short ready() const override;
  void closed() override;

  int connect(Host* to);
  /// @return as send(2); -1 with `error`
  long send(const void* bytes, std::size_t size, int& error);
  long receive(void* into, std::size_t size, bool peek, int& error);
  [[nodiscard]] int take_error() noexcept;

  enum class State { fresh, connecting, connected, ended, broken };
  State state = State::fresh;
  int error = 0;
  Nanos receive_limit{0};  // SO_RCVTIMEO
  std::string in;
  std::size_t in_read = 0;
  std::shared_ptr<Connection> connection;

 private:
  Network& network_;
};

/// One direction of a connection: bytes under way, in order.
struct Stretch {
  struct Piece {
    Nanos arrives;
    std::string bytes;
    std::function<void()> then{};  // once it has arrived
  };
  std::deque<Piece> pieces;
  std::size_t size = 0;  // bytes under way
  Nanos last{0};         // arrival of the last piece
  Nanos stalled_until{0};
  bool planned = false;  // an event delivers the first piece
};

/// A connection from one process to one host.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Network& network, Socket& socket, Host& host, ConnectionId id);
  [[nodiscard]] ConnectionId id() const noexcept { return id_; }
  [[nodiscard]] Host& host() const noexcept { return host_; }
  [[nodiscard]] Process& process() const noexcept { return process_; }
  [[nodiscard]] bool open() const noexcept { return socket_ != nullptr || server_side_; }
  /// @return whether the client still has its end.
  [[nodiscard]] bool held() const noexcept { return socket_ != nullptr; }
  /// @return whether the client closed it while it stood, and all that it had sent had arrived.
  [[nodiscard]] bool left() const noexcept { return left_; }

  void begin();
  std::size_t send_up(const char* bytes, std::size_t size);
  void send_down(std::string_view bytes);
  /// The client closed its end. @param drop what is under way is lost (SO_LINGER 0)
  void client_closed(bool drop);
  /// The server closed its end: the client reads what is under way, then the end.
  void server_closed();

  // Faults.
  enum class Way { up, down, both };
  /// Nothing arrives until then.
  void stall(Way way, Nanos until);
  /// What stalled goes on.
  void flow();
  /// A reset. @param deliver what is under way to the server still arrives, and is worked on
  void cut(bool deliver);
  /// What stalled goes on, to the client a message at a time.
  void trickle(Nanos gap);
  /// A reset that the client learns of when it sends next. @param sprung is called then
  void spring_trap(std::function<void()> sprung = {}) {
    trap_ = true;
    sprung_ = std::move(sprung);
  }
  [[nodiscard]] bool trapped() const noexcept { return trap_; }
  /// The client sends on a connection that is trapped.
  void sprung();
  /// Calls that once all that is under way to the client has arrived there, if it ever does.
  void on_arrival(std::function<void()> then);
  /// The server is gone: whoever sends, is told.
  void server_gone();
  [[nodiscard]] std::size_t room() const noexcept;
  /// @return how many bytes have not arrived at the server.
  [[nodiscard]] std::size_t unacknowledged() const noexcept { return up_.size; }
  /// @return the port number of the client's end.
  [[nodiscard]] std::uint16_t port() const noexcept {
    return static_cast<std::uint16_t>(20'000 + id_ % 40'000);
  }

 private:
  void opened();
  void plan_up();
  void deliver_up();
  void plan_down();
  void deliver_down();
  void break_client(int error);
  void tell(bool up, std::string_view bytes) const;
  [[nodiscard]] Nanos under_way();

  Network& network_;
  Socket* socket_;
  Process& process_;
  Host& host_;
  const ConnectionId id_;
  Random random_;
  Nanos latency_;
  Nanos jitter_;
  Stretch up_;
  Stretch down_;
  bool trap_ = false;
  std::function<void()> sprung_;
  bool gone_ = false;         // the server that it led to
  bool server_side_ = false;  // the server was told of it
  bool end_up_ = false;       // behind what is under way: the end
  bool end_down_ = false;
  bool left_ = false;
  int error_down_ = 0;
};

/// By how much a clock was set, all times together.
struct Steps {
  Nanos ahead{0};
  Nanos back{0};
};

/// Where a server runs.
class Host final : public Site {
 public:
  Host(Network& network, std::uint64_t number, std::string name, std::uint32_t address);
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  [[nodiscard]] std::uint32_t address() const noexcept { return address_; }
  void serve(Server& server) noexcept { server_ = &server; }
  [[nodiscard]] Server& server() const noexcept { return *server_; }
  [[nodiscard]] bool up() const noexcept { return up_; }
  [[nodiscard]] Nanos paused_until() const noexcept { return paused_until_; }

  // Faults.
  void pause(Nanos until);
  /// The process ends, and starts again then.
  void restart(Nanos back_at, bool keeps_data);
  void step_wall_clock(Nanos by) noexcept {
    wall_ += by;
    (by > Nanos(0) ? stepped_.ahead : stepped_.back) += std::chrono::abs(by);
  }
  /// @return by how much in all, each way.
  [[nodiscard]] const Steps& stepped() const noexcept { return stepped_; }
  DriftingClock clock;

  // Site
  [[nodiscard]] Nanos wall() const override;
  [[nodiscard]] Nanos uptime() const override;
  [[nodiscard]] std::uint64_t random() override { return random_.next(); }
  void send(ConnectionId connection, std::string_view bytes) override;
  void hang_up(ConnectionId connection) override;
  void after(Nanos delay, std::function<void()> then) override;
  void note(std::string_view words) override;

  /// How long it takes to work on what came.
  Nanos work{3'000};
  std::uint64_t requests = 0;  ///< pieces that came, for figures

 private:
  void call_back(std::uint64_t life, const std::function<void()>& then);
  Network& network_;
  const std::uint64_t number_;
  const std::string name_;
  const std::uint32_t address_;
  Server* server_ = nullptr;
  Random random_;
  Nanos wall_{std::chrono::hours(24 * 365 * 50)};
  Steps stepped_;
  Nanos paused_until_{0};
  bool up_ = true;
  std::uint64_t life_ = 0;
};

/// The network's habits in one run.
struct Weather {
  Nanos latency_least{20'000};
  Nanos latency_most{200'000};
  Nanos jitter{20'000};
  double slow_piece = 0;  ///< how often a piece takes up to `slowest` more
  Nanos slowest{0};
  std::size_t window = std::size_t{64} << 10U;  ///< bytes that may be under way
};

class Network {
 public:
  explicit Network(World& world) : world_(world) {}
  [[nodiscard]] World& world() const noexcept { return world_; }
  Host& host(std::string name);
  [[nodiscard]] Host* at(std::uint32_t address, std::uint16_t port) noexcept;
  [[nodiscard]] const std::vector<std::unique_ptr<Host>>& hosts() const noexcept { return hosts_; }
  [[nodiscard]] Connection* find(ConnectionId id) noexcept;
  [[nodiscard]] std::map<ConnectionId, std::shared_ptr<Connection>>& connections() noexcept {
    return connections_;
  }
  std::shared_ptr<Connection> open(Socket& socket, Host& host);
  void forget(ConnectionId id) { connections_.erase(id); }
  /// Nothing passes between a process and a host until then; new connections do not come about.
  void part(const Process& process, const Host& host, Nanos until,
            Connection::Way way = Connection::Way::both);
  [[nodiscard]] Nanos parted_until(const Process& process, const Host& host) const noexcept;
  /// From now on a process that connects to a host finds another one at its address; null = as
  /// ever.
  void lead_elsewhere(const Process& process, const Host& host, Host* elsewhere);

  Weather weather;
  Descriptors descriptors;
  std::uint64_t cuts = 0;  ///< connections that were broken by a fault

 private:
  World& world_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::map<ConnectionId, std::shared_ptr<Connection>> connections_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Nanos> parted_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Host*> led_;
  ConnectionId last_id_ = 0;
};

}  // namespace simulation
