// SPDX-License-Identifier: MIT
#include "server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <deque>
#include <map>
#include <random>
#include <sstream>
#include <system_error>
#include <vector>

namespace own {
namespace {

// A waiter may have died just before its turn: until the first renewal its lease is short.
constexpr std::int64_t first_lease = 2'000'000;
// How often the server looks for leases that have ended.
constexpr std::int64_t tick = 20'000;

// The server reads its clock after each read of requests, and not in between: a new hold has its
// whole lease. If the lease looks shorter, the client renews it.
std::int64_t time_of_requests = 0;
// Microseconds, like every time in here.
std::int64_t now() { return time_of_requests; }
// A steady clock never jumps.
void look_at_the_clock() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  time_of_requests = std::chrono::duration_cast<std::chrono::microseconds>(since).count();
}

// Larger than each number of a server that ran before: the time of day.
std::uint64_t first_number() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(since).count());
}

struct Attempt {
  std::string id{};
  std::string label{};
  std::int64_t lease = 0;
  int client = -1;  // the connection that asked last
};

struct Lock {
  Attempt owner{};
  std::uint64_t number = 0;  // of the last grant
  std::int64_t ends = 0;     // of the owner's lease
  bool is_released = false;  // by the owner
  std::deque<Attempt> queue{};

  [[nodiscard]] bool is_held() const { return !is_released && ends > now(); }
  [[nodiscard]] bool is_held_by(const std::string& id) const { return is_held() && owner.id == id; }
  void grant_to(const Attempt& attempt, std::int64_t its_lease) {
    owner = attempt;
    number = std::max(number + 1, first_number());
    ends = now() + its_lease;
    is_released = false;
  }
  [[nodiscard]] std::string grant() const {
    const std::int64_t time = now();
    return std::to_string(time) + " " + std::to_string(number) + " " +
           std::to_string(std::max<std::int64_t>(ends - time, 1));
  }
  // The holder, if there is one.
  [[nodiscard]] std::string holder() const {
    if (!is_held()) return std::to_string(now());
    return grant() + " " + std::to_string(queue.size()) + " " + owner.label;
  }
};

class Service {
 public:
  explicit Service(int listener) : listener_(listener) {}
  [[noreturn]] void run();

 private:
  void read_from(int client);
  void send_to(int client, const std::string& line);
  void leave(int client);
  std::string answer(int client, const std::string& line);
  std::string renew(std::istringstream& words);
  static std::string take(Lock& lock, const Attempt& attempt, bool waits);
  std::string release(const std::string& name, Lock& lock, const std::string& id,
                      std::uint64_t number);
  void hand_over(const std::string& name, Lock& lock);
  [[nodiscard]] std::string counts() const;

  const int listener_;
  const std::string id_ =
      std::to_string(std::random_device()()) + "." + std::to_string(first_number());
  std::uint64_t requests_ = 0;
  std::map<std::string, Lock> locks_;
  std::map<int, std::string> clients_;  // the bytes of each that are no whole line yet
};

void Service::run() {
  for (std::int64_t looks = now();;) {
    std::vector<pollfd> polled{{listener_, POLLIN, 0}};
    for (const auto& [client, bytes] : clients_) polled.push_back({client, POLLIN, 0});
    ::poll(polled.data(), polled.size(), tick / 1000);
    for (const pollfd& each : polled) {
      if (each.revents == 0) continue;
      if (each.fd != listener_) {
        read_from(each.fd);
      } else if (const int client = ::accept(listener_, nullptr, nullptr); client >= 0) {
        clients_[client];
      }
    }
    look_at_the_clock();
    if (now() < looks) continue;
    looks = now() + tick;
    for (auto& [name, lock] : locks_) {
      if (!lock.is_held()) hand_over(name, lock);
    }
  }
}

void Service::read_from(int client) {
  char bytes[4096];
  const ssize_t size = ::recv(client, bytes, sizeof bytes, 0);
  if (size <= 0) return leave(client);
  look_at_the_clock();
  clients_[client].append(bytes, static_cast<std::size_t>(size));
  while (clients_.contains(client)) {
    std::string& rest = clients_[client];
    const std::size_t end = rest.find('\n');
    if (end == std::string::npos) return;
    const std::string line = rest.substr(0, end);
    rest.erase(0, end + 1);
    send_to(client, answer(client, line));
  }
}

// A client that does not read has to connect again.
void Service::send_to(int client, const std::string& line) {
  if (!clients_.contains(client)) return;
  const std::string bytes = line + '\n';
  const ssize_t sent = ::send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent != static_cast<ssize_t>(bytes.size())) leave(client);
}

void Service::leave(int client) {
  if (clients_.erase(client) == 0) return;
  ::close(client);
  for (auto& [name, lock] : locks_) {
    std::erase_if(lock.queue, [&](const Attempt& each) { return each.client == client; });
  }
}

// [answer]
std::string Service::answer(int client, const std::string& line) {
  std::istringstream words(line);
  std::string request;
  std::string name;
  Attempt attempt{.client = client};
  words >> request;
  if (request == "count") return counts();
  ++requests_;
  if (request == "hello") return "hello " + std::to_string(now()) + " " + id_;
  if (request == "renew") return "renewed " + std::to_string(now()) + renew(words);
  words >> name >> attempt.id;
  Lock& lock = locks_[name];
  if (!lock.is_held()) hand_over(name, lock);  // its lease has ended
  if (request == "take") {
    std::int64_t void_after = 0;
    bool waits = false;
    words >> attempt.lease >> void_after >> waits >> attempt.label;
    if (now() > void_after) return "expired " + std::to_string(now());
    return take(lock, attempt, waits);
  }
  if (request == "cancel") {
    std::erase_if(lock.queue, [&](const Attempt& each) { return each.id == attempt.id; });
    return lock.is_held_by(attempt.id) ? "granted " + lock.grant() : "busy " + lock.holder();
  }
  if (request == "release") {
    std::uint64_t number = 0;
    words >> number;
    return release(name, lock, attempt.id, number) + " " + std::to_string(now());
  }
  if (request == "wipe") lock.ends = 0;
  return request == "holder" || request == "wipe" ? "holder " + lock.holder() : "error unknown";
}
// [/answer]

std::string Service::renew(std::istringstream& words) {
  std::string answers;
  std::string name;
  std::string id;
  std::uint64_t number = 0;
  for (std::int64_t lease = 0; words >> name >> id >> number >> lease;) {
    Lock& lock = locks_[name];
    const bool holds = lock.is_held_by(id) && lock.number == number;
    if (holds) lock.ends = now() + lease;
    answers += holds ? " 1" : " 0";
  }
  return answers;
}

// An attempt may ask twice. It gets the answer that it had.
std::string Service::take(Lock& lock, const Attempt& attempt, bool waits) {
  if (!lock.is_held()) lock.grant_to(attempt, attempt.lease);
  if (lock.owner.id == attempt.id) return "granted " + lock.grant();
  if (!waits) return "busy " + lock.holder();
  const auto its = std::find_if(lock.queue.begin(), lock.queue.end(),
                                [&](const Attempt& each) { return each.id == attempt.id; });
  its == lock.queue.end() ? lock.queue.push_back(attempt) : void(*its = attempt);
  return "queued " + lock.holder();
}

std::string Service::release(const std::string& name, Lock& lock, const std::string& id,
                             std::uint64_t number) {
  if (lock.owner.id != id || lock.number != number) return "absent";
  if (lock.is_released) return "before";
  if (!lock.is_held()) return "absent";
  lock.is_released = true;
  hand_over(name, lock);
  return "released";
}

// The first attempt in the queue gets the name, if there is one.
void Service::hand_over(const std::string& name, Lock& lock) {
  if (lock.queue.empty()) return;
  const Attempt next = lock.queue.front();
  lock.queue.pop_front();
  lock.grant_to(next, std::min(next.lease, first_lease));
  send_to(next.client, "handed " + lock.grant() + " " + name + " " + next.id);
}

std::string Service::counts() const {
  std::size_t waiters = 0;
  for (const auto& [name, lock] : locks_) waiters += lock.queue.size();
  return std::to_string(waiters) + " " + std::to_string(requests_);
}

[[noreturn]] void fail() {
  throw std::system_error(errno, std::generic_category(), "the lock server");
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

}  // namespace

LockServer::LockServer(std::uint16_t port) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address = loopback(port);
  socklen_t size = sizeof address;
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener, raw, size) != 0 || ::listen(listener, SOMAXCONN) != 0 ||
      ::getsockname(listener, raw, &size) != 0 || (process_ = ::fork()) < 0) {
    fail();
  }
  if (process_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    Service(listener).run();
  }
  ::close(listener);
  port_ = ntohs(address.sin_port);
}

LockServer::~LockServer() {
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

std::string LockServer::ask(const std::string& line) const {
  const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(port_);
  const std::string bytes = line + '\n';
  char answer[256];
  if (::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::send(server, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) {
    fail();
  }
  const ssize_t size = ::recv(server, answer, sizeof answer, 0);
  ::close(server);
  if (size <= 0) fail();
  return {answer, static_cast<std::size_t>(size)};
}

void LockServer::wipe(const std::string& name) { static_cast<void>(ask("wipe " + name)); }

std::size_t LockServer::waiters() const { return std::stoull(ask("count")); }

std::uint64_t LockServer::requests() const {
  const std::string counts = ask("count");
  return std::stoull(counts.substr(counts.find(' ')));
}

}  // namespace own
