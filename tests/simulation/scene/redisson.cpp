// SPDX-License-Identifier: MIT
#include "simulation/scene/redisson.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace simulation {
namespace {

struct Broken : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string channel_of(const std::string& key) { return "redisson_lock__channel:{" + key + "}"; }

}  // namespace

/// A connection that blocks, with a time limit.
struct Redisson::Wire {
  Wire() {
    fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(6379);
    address.sin_addr.s_addr = htonl((10U << 24U) + 1);
    ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    wait_for(POLLOUT, patience);
  }
  ~Wire() { ::close(fd); }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  bool wait_for(short events, Nanos at_most) const {
    pollfd polled{.fd = fd, .events = events, .revents = 0};
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(at_most).count();
    return ::poll(&polled, 1, static_cast<int>(ms)) > 0;
  }

  void send(const std::vector<std::string>& words) const {
    std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
    for (const std::string& word : words) {
      bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    }
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t sent = ::send(fd, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
      if (sent > 0) {
        done += static_cast<std::size_t>(sent);
      } else if (errno != EAGAIN || !wait_for(POLLOUT, patience)) {
        throw Broken("send");
      }
    }
  }

  std::string line(Nanos at_most) {
    for (;;) {
      const std::size_t end = in.find("\r\n");
      if (end != std::string::npos) {
        std::string found = in.substr(0, end);
        in.erase(0, end + 2);
        return found;
      }
      if (!fill(at_most)) throw Broken("no answer");
    }
  }

  /// @return false: nothing came in that time
  bool fill(Nanos at_most) {
    if (!wait_for(POLLIN, at_most)) return false;
    char bytes[1024];
    const ssize_t got = ::recv(fd, bytes, sizeof bytes, 0);
    if (got == 0 || (got < 0 && errno != EAGAIN)) throw Broken("the connection has ended");
    if (got > 0) in.append(bytes, static_cast<std::size_t>(got));
    return got > 0;
  }

  /// @return a number, or nothing for nil; of an array, nothing
  std::optional<std::int64_t> reply(Nanos at_most) {
    const std::string first = line(at_most);
    switch (first[0]) {
      case ':': return std::strtoll(first.c_str() + 1, nullptr, 10);
      case '$':
        if (first != "$-1") line(at_most);
        return std::nullopt;
      case '*':
        for (long i = std::strtol(first.c_str() + 1, nullptr, 10); i > 0; --i) reply(at_most);
        return std::nullopt;
      case '+': return std::nullopt;
      default: throw Broken(first);  // an error: loading, no memory, ...
    }
  }

  int fd = -1;
  std::string in;
};

Redisson::Redisson(Room& room, Judge& judge, Process& process, std::size_t names, Around around)
    : room_(room),
      judge_(judge),
      process_(process),
      names_(names),
      around_(std::move(around)),
      uuid_("5e1f0000-0000-4000-8000-" + std::to_string(100'000'000'000 + process.number())),
      owner_(uuid_ + ":1") {}

// @return when the request left that took the name; nothing: it is held
std::optional<Nanos> Redisson::lock(Wire& commands, Wire& inbox, std::size_t name) {
  const std::string key = "name/" + std::to_string(name);
  std::optional<std::uint64_t> told;  // of releases, when it began to listen and all was quiet
  std::uint64_t taken = around_.taken(name);
  const Nanos until = room_.world.now() + patience;
  bool subscribed = false;
  std::optional<Nanos> sent;
  for (;;) {
    const Nanos before = room_.world.now();
    commands.send({"EVAL", lock_script, "1", key, std::to_string(lease / 1ms), owner_});
    const auto left = commands.reply(patience);
    if (!left) {
      sent = before;
      ++around_.taken(name);
      break;
    }
    if (!std::exchange(subscribed, true)) {
      inbox.send({"SUBSCRIBE", channel_of(key)});
      inbox.reply(patience);
      continue;  // it looks once more, or misses what was told meanwhile
    }
    const std::uint64_t releases = around_.releases_told(name);
    const bool other_has_had_it = around_.taken(name) != taken;
    taken = around_.taken(name);
    if (around_.quiet() < 100ms || other_has_had_it) told.reset();
    if (!told) told = around_.quiet() < 100ms ? std::nullopt : std::optional(releases);
    if (told && releases - *told > most_in_vain) {
      judge_.blame("L5", process_.name() + " has tried in vain after each of " +
                             std::to_string(releases - *told) + " releases of " + key);
    }
    const Nanos now = room_.world.now();
    if (now >= until) break;
    if (inbox.in.empty()) {
      // Of a key without a time to live it knows no end, and waits to be told.
      const Nanos end = *left < 0 ? until - now : Nanos(1ms) * (*left + 1);
      inbox.fill(std::min(until - now, end));
    }
    inbox.in.clear();  // all messages that are there are one reason to look
  }
  if (subscribed) {
    inbox.send({"UNSUBSCRIBE", channel_of(key)});
    std::this_thread::sleep_for(1ms);
    while (inbox.fill(Nanos(0))) {
    }
    inbox.in.clear();
  }
  return sent;
}

void Redisson::unlock(Wire& commands, const std::string& key) {
  commands.send(
      {"EVAL", unlock_script, "2", key, channel_of(key), "0", std::to_string(lease / 1ms), owner_});
  commands.reply(patience);
}

void Redisson::live() {
  Random& random = process_.random();
  std::string persistent;  // a key that nothing but its owner ends
  std::optional<std::pair<std::size_t, Judge::HoldNumber>> held;
  const auto leave = [&] {
    if (const auto hold = std::exchange(held, std::nullopt)) {
      judge_.releasing(hold->first, hold->second);
    }
  };
  while (around_.goes_on() || !persistent.empty()) {
    try {
      Wire commands;
      Wire inbox;
      if (!persistent.empty()) unlock(commands, persistent);
      persistent.clear();
      // Another of its threads: an unlock that is still under way would free this one's lock, too.
      owner_ = uuid_ + ":" + std::to_string(++threads_);
      while (around_.goes_on()) {
        const std::size_t name = random.below(names_);
        const std::string key = "name/" + std::to_string(name);
        if (const auto sent = lock(commands, inbox, name)) {
          Judge::Hold hold;
          hold.process = &process_;
          hold.left = [this, until = *sent + lease - lease / 500] {  // both clocks drift
            return std::max(until - room_.world.now(), Nanos(0));
          };
          hold.asked_at = room_.world.now();
          hold.sent_at = *sent;
          held.emplace(name, judge_.granted(name, hold));
          if (room_.world.tells) room_.world.note(process_.name(), "holds " + key);
          // Now and then somebody takes the time to live from its key: nobody knows the end then.
          const bool persists = random.chance(0.05);
          if (persists) {
            persistent = key;
            commands.send({"PERSIST", key});
            commands.reply(patience);
          }
          std::this_thread::sleep_for(
              random.spread(Nanos(10us), persists ? Nanos(2s) : Nanos(50ms)));
          leave();
          unlock(commands, key);
          persistent.clear();
          if (room_.world.tells) room_.world.note(process_.name(), "released " + key);
        }
        std::this_thread::sleep_for(random.spread(Nanos(10us), Nanos(50ms)));
      }
    } catch (const Broken& broken) {
      leave();
      if (room_.world.tells)
        room_.world.note(process_.name(), std::string("connects anew: ") + broken.what());
      std::this_thread::sleep_for(50ms);
    }
  }
}

}  // namespace simulation
