// SPDX-License-Identifier: MIT
// The protected resource: a process that accepts a write to a name only with a fencing token that
// is not below the highest it has seen for that name. One thread, bounded in clients, names and
// log; a client that dies, stalls or talks nonsense loses its connection and nothing else.
//
//   mortise_resource --directory DIR [--ready-fd N] [--log-limit N] [--unfenced]
//
// --unfenced accepts every token: the negative control. It ends on SIGTERM, or with its parent.
#include "model/resource_protocol.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

using namespace mortise::model;

constexpr std::size_t most_clients = 256;
constexpr std::size_t most_names = 65'536;

volatile sig_atomic_t ended = 0;

void end(int) { ended = 1; }

struct Arguments {
  std::string directory;
  int ready = -1;
  std::size_t log_limit = 1'000'000;
  bool fenced = true;
};

class Register {
 public:
  explicit Register(Arguments arguments) : arguments_(std::move(arguments)) {}

  wire::Reply answer(const wire::Request& request, std::size_t clients) {
    wire::Reply reply;
    reply.answer = wire::Answer::done;
    switch (request.ask) {
      case wire::Ask::write: write(request, reply); break;
      case wire::Ask::read: show(request.name, reply); break;
      case wire::Ask::statistics:
        reply.statistics = statistics_;
        reply.statistics.names = cells_.size();
        reply.statistics.clients = clients;
        break;
      case wire::Ask::log: list(request.value, reply); break;
      default: reply.answer = wire::Answer::unknown;
    }
    return reply;
  }

 private:
  struct Cell {
    std::uint64_t highest = 0;
    std::uint64_t value = 0;
  };

  void write(const wire::Request& request, wire::Reply& reply) {
    const bool known = cells_.find(request.name) != cells_.end();
    // What could not be logged could not be verified either, so it is not accepted.
    if (log_.size() >= arguments_.log_limit || (!known && cells_.size() >= most_names)) {
      reply.answer = wire::Answer::full;
      return;
    }
    Cell& cell = cells_[request.name];
    const bool stale = request.token < cell.highest;
    statistics_.stale += stale ? 1 : 0;
    if (stale && arguments_.fenced) {
      ++statistics_.refused;
      reply.answer = wire::Answer::refused;
    } else {
      ++statistics_.accepted;
      log_.push_back({request.name, 0, request.token, request.value});
      cell.highest = std::max(cell.highest, request.token);
      cell.value = request.value;
    }
    show(request.name, reply);
  }

  void show(std::uint32_t name, wire::Reply& reply) const {
    if (const auto cell = cells_.find(name); cell != cells_.end()) {
      reply.highest = cell->second.highest;
      reply.value = cell->second.value;
    }
  }

  void list(std::uint64_t from, wire::Reply& reply) const {
    const std::uint64_t begin = std::min<std::uint64_t>(from, log_.size());
    const std::uint64_t count = std::min<std::uint64_t>(log_.size() - begin, wire::entries_a_reply);
    std::copy_n(log_.begin() + static_cast<std::ptrdiff_t>(begin), count, reply.log);
    reply.entries = static_cast<std::uint32_t>(count);
  }

  Arguments arguments_;
  std::unordered_map<std::uint32_t, Cell> cells_;
  std::vector<wire::Entry> log_;
  wire::Statistics statistics_;
};

class Server {
 public:
  Server(int listener, Register& store, const sigset_t& mask)
      : store_(store), mask_(mask), polled_{{listener, POLLIN, 0}} {}

  int run() {
    while (ended == 0) {
      // Beyond the limit newcomers wait in the kernel's queue, which is bounded too.
      polled_[0].events = polled_.size() <= most_clients ? POLLIN : 0;
      if (::ppoll(polled_.data(), polled_.size(), nullptr, &mask_) < 0) {
        if (errno == EINTR) {
          continue;
        }
        std::perror("mortise_resource: ppoll");
        return 1;
      }
      for (std::size_t i = polled_.size(); i-- > 1;) {
        if (polled_[i].revents != 0 && !serve(polled_[i].fd)) {
          ::close(polled_[i].fd);
          polled_.erase(polled_.begin() + static_cast<std::ptrdiff_t>(i));
        }
      }
      if ((polled_[0].revents & POLLIN) != 0) {
        admit();
      }
    }
    return 0;
  }

 private:
  // False: the client is gone, or has earned it.
  bool serve(int client) {
    wire::Request request;
    const ssize_t size = ::recv(client, &request, sizeof(request), MSG_DONTWAIT | MSG_TRUNC);
    if (size < 0) {
      return errno == EAGAIN || errno == EINTR;
    }
    if (size != static_cast<ssize_t>(sizeof(request))) {
      return false;
    }
    const wire::Reply reply = store_.answer(request, polled_.size() - 1);
    const std::size_t length = wire::size_of(reply);
    // Never waits: who asks faster than it reads answers is dropped.
    return ::send(client, &reply, length, MSG_DONTWAIT | MSG_NOSIGNAL) ==
           static_cast<ssize_t>(length);
  }

  void admit() {
    const int client = ::accept4(polled_[0].fd, nullptr, nullptr, SOCK_CLOEXEC);
    if (client >= 0) {
      polled_.push_back({client, POLLIN, 0});
    }
  }

  Register& store_;
  const sigset_t& mask_;
  std::vector<pollfd> polled_;  // the listener first
};

int listen_at(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    errno = ENAMETOOLONG;
    return -1;
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int listener = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0 ||
      ::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(listener, 128) != 0) {
    return -1;
  }
  return listener;
}

bool parse(int count, char** texts, Arguments& arguments) {
  for (int i = 1; i < count; ++i) {
    const std::string text = texts[i];
    const bool more = i + 1 < count;
    if (text == "--unfenced") {
      arguments.fenced = false;
    } else if (text == "--directory" && more) {
      arguments.directory = texts[++i];
    } else if (text == "--ready-fd" && more) {
      arguments.ready = std::atoi(texts[++i]);
    } else if (text == "--log-limit" && more) {
      arguments.log_limit = std::strtoull(texts[++i], nullptr, 10);
    } else {
      return false;
    }
  }
  return !arguments.directory.empty();
}

// SIGTERM is let in only while the server sleeps, so it cannot come between a look and the sleep.
sigset_t handle_end() {
  struct sigaction action {};
  action.sa_handler = end;
  ::sigaction(SIGTERM, &action, nullptr);
  sigset_t blocked;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGTERM);
  sigset_t before;
  ::sigprocmask(SIG_BLOCK, &blocked, &before);
  return before;
}

}  // namespace

int main(int count, char** texts) {
  Arguments arguments;
  if (!parse(count, texts, arguments)) {
    std::fprintf(stderr,
                 "usage: mortise_resource --directory DIR [--ready-fd N] [--log-limit N] "
                 "[--unfenced]\n");
    return 2;
  }
  const sigset_t mask = handle_end();
  const std::string path = arguments.directory + "/" + wire::socket_name;
  const int listener = listen_at(path);
  if (listener < 0) {
    std::fprintf(stderr, "mortise_resource: %s: %s\n", path.c_str(), std::strerror(errno));
    return 1;
  }
  if (arguments.ready >= 0) {
    const char ready = 'r';
    if (::write(arguments.ready, &ready, 1) != 1) {
      std::perror("mortise_resource: ready");
      return 1;
    }
    ::close(arguments.ready);
  }
  Register store(arguments);
  Server server(listener, store, mask);
  const int code = server.run();
  ::unlink(path.c_str());
  return code;
}
