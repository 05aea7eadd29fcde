// SPDX-License-Identifier: MIT
// The two ends that live in the test's own processes. Each wait has a deadline.
#include "model/resource.hpp"

#include "model/history.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>
#include <unordered_map>
#include <utility>

namespace mortise::model {

namespace {

[[noreturn]] void fail_resource(const std::string& path, const std::string& what) {
  throw ResourceError("resource " + path + ": " + what);
}

[[noreturn]] void fail_resource(const std::string& path, const char* what, int error) {
  fail_resource(path, std::string(what) + ": " + std::generic_category().message(error));
}

std::string socket_path(const std::string& directory) {
  return directory + "/" + wire::socket_name;
}

// A message of the child, or its end: whichever comes first within the time.
bool wait_for_ready(int pipe, std::chrono::milliseconds patience) {
  const std::int64_t deadline = monotonic_ns() + std::chrono::nanoseconds(patience).count();
  for (;;) {
    pollfd readable{pipe, POLLIN, 0};
    const std::int64_t left = std::max<std::int64_t>(0, deadline - monotonic_ns());
    const int ready = ::poll(&readable, 1, static_cast<int>((left + 999'999) / 1'000'000));
    if (ready > 0) {
      char byte = 0;
      return ::read(pipe, &byte, 1) == 1;
    }
    if (ready == 0 || errno != EINTR) {
      return false;
    }
  }
}

}  // namespace

ResourceClient::ResourceClient(const std::string& directory, std::chrono::milliseconds patience)
    : path_(socket_path(directory)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path_.size() >= sizeof(address.sun_path)) {
    fail_resource(path_, "cannot connect", ENAMETOOLONG);
  }
  std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
  socket_ = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (socket_ < 0) {
    fail_resource(path_, "cannot make a socket", errno);
  }
  // The send time-out also bounds connect() while the server's queue is full.
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience);
  timeval limit{};
  limit.tv_sec = seconds.count();
  limit.tv_usec = std::chrono::microseconds(patience - seconds).count();
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    const int error = errno;
    ::close(socket_);
    fail_resource(path_, "cannot connect", error);
  }
}

ResourceClient::ResourceClient(ResourceClient&& other) noexcept
    : path_(std::move(other.path_)), socket_(std::exchange(other.socket_, -1)) {}

ResourceClient& ResourceClient::operator=(ResourceClient&& other) noexcept {
  ResourceClient moved(std::move(other));
  std::swap(path_, moved.path_);
  std::swap(socket_, moved.socket_);
  return *this;
}

ResourceClient::~ResourceClient() {
  if (socket_ >= 0) {
    ::close(socket_);
  }
}

wire::Reply ResourceClient::ask(const wire::Request& request) {
  wire::Reply reply;
  ssize_t size = ::send(socket_, &request, sizeof(request), MSG_NOSIGNAL);
  if (size == static_cast<ssize_t>(sizeof(request))) {
    do {
      size = ::recv(socket_, &reply, sizeof(reply), 0);
    } while (size < 0 && errno == EINTR);
  }
  const int error = size == 0 ? ECONNRESET : errno;
  if (size <= 0 || reply.entries > wire::entries_a_reply ||
      static_cast<std::size_t>(size) != wire::size_of(reply)) {
    // A late answer would be taken for that of the next question.
    ::close(std::exchange(socket_, -1));
    fail_resource(path_, "no answer", size <= 0 ? error : EPROTO);
  }
  if (reply.answer == wire::Answer::full) {
    fail_resource(path_, "it is full");
  }
  if (reply.answer == wire::Answer::unknown) {
    fail_resource(path_, "it does not know the request");
  }
  return reply;
}

ResourceClient::Written ResourceClient::write(std::uint32_t name, std::uint64_t token,
                                              std::uint64_t value) {
  const wire::Reply reply = ask({wire::Ask::write, name, token, value});
  return {reply.answer == wire::Answer::done, reply.highest, reply.value};
}

std::uint64_t ResourceClient::read(std::uint32_t name) {
  return ask({wire::Ask::read, name, 0, 0}).value;
}

ResourceStatistics ResourceClient::statistics() {
  return ask({wire::Ask::statistics, 0, 0, 0}).statistics;
}

std::vector<AcceptedWrite> ResourceClient::log() {
  std::vector<AcceptedWrite> writes;
  for (;;) {
    const wire::Reply reply = ask({wire::Ask::log, 0, 0, writes.size()});
    if (reply.entries == 0) {
      return writes;
    }
    writes.insert(writes.end(), reply.log, reply.log + reply.entries);
  }
}

ResourceProcess::ResourceProcess(const std::string& binaries, const std::string& directory)
    : ResourceProcess(binaries, directory, Options{}) {}

ResourceProcess::ResourceProcess(const std::string& binaries, const std::string& directory,
                                 Options options)
    : directory_(directory),
      options_(options),
      process_(start(binaries, directory, options)),
      client_(directory, options.patience) {}

Process ResourceProcess::start(const std::string& binaries, const std::string& directory,
                               const Options& options) {
  const std::string program = binaries + "/mortise_resource";
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    fail_resource(program, "cannot make a pipe", errno);
  }
  std::vector<std::string> arguments{"--directory", directory,
                                     "--ready-fd",  std::to_string(ends[1]),
                                     "--log-limit", std::to_string(options.log_limit)};
  if (!options.fenced) {
    arguments.emplace_back("--unfenced");
  }
  Process process;
  try {
    process = Process::spawn(program, arguments, ends[1]);
  } catch (const ProcessError& error) {
    ::close(ends[0]);
    ::close(ends[1]);
    fail_resource(program, error.what());
  }
  ::close(ends[1]);
  const bool ready = wait_for_ready(ends[0], options.patience);
  ::close(ends[0]);
  if (!ready) {
    const std::optional<Exit> ended = process.wait_for(std::chrono::seconds(1));
    const Exit exit = ended ? *ended : process.kill();
    fail_resource(program, exit.killed() ? std::string("not ready in time")
                                         : "ended with code " + std::to_string(exit.code));
  }
  return process;
}

ResourceProcess::~ResourceProcess() {
  try {
    stop();
  } catch (const ProcessError&) {
    // Its own destructor ends it for certain.
  }
}

bool ResourceProcess::stop() {
  process_.terminate();
  const std::optional<Exit> exit = process_.wait_for(options_.patience);
  if (!exit) {
    process_.kill();
  }
  if (!exit || exit->killed()) {
    ::unlink(socket_path(directory_).c_str());
  }
  return exit && !exit->killed() && exit->code == 0;
}

std::size_t first_stale(const std::vector<AcceptedWrite>& writes) {
  std::unordered_map<std::uint32_t, std::uint64_t> highest;
  for (std::size_t i = 0; i < writes.size(); ++i) {
    std::uint64_t& mark = highest[writes[i].name];
    if (writes[i].token < mark) {
      return i;
    }
    mark = writes[i].token;
  }
  return writes.size();
}

}  // namespace mortise::model
