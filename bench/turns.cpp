// SPDX-License-Identifier: MIT
#include "turns.hpp"

#include "figure.hpp"
#include "process.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace mortise::bench {
namespace {

/// One end of a line between both sides.
class Line {
 public:
  explicit Line(int descriptor) : descriptor_(descriptor) {}
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  ~Line() { close(); }

  void close() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  }

  void send(const void* data, std::size_t size) const {
    if (::send(descriptor_, data, size, MSG_NOSIGNAL) != static_cast<ssize_t>(size)) {
      throw std::runtime_error("the other side has gone");
    }
  }

  /// @return false: the other end was closed
  [[nodiscard]] bool receive(void* data, std::size_t size) const {
    const ssize_t count = ::recv(descriptor_, data, size, MSG_WAITALL);
    if (count < 0) throw std::system_error(errno, std::generic_category(), "recv");
    return static_cast<std::size_t>(count) == size;
  }

 private:
  int descriptor_;
};

constexpr char go = 'g';

void play(const Line& line, const Sampler& turn) {
  char word = 0;
  while (line.receive(&word, sizeof word)) {
    const std::vector<double> samples = turn();
    const std::size_t count = samples.size();
    line.send(&count, sizeof count);
    line.send(samples.data(), count * sizeof(double));
  }
}

std::vector<double> ask(const Line& line) {
  line.send(&go, sizeof go);
  std::size_t count = 0;
  if (!line.receive(&count, sizeof count)) throw std::runtime_error("the floor has failed");
  std::vector<double> samples(count);
  if (!line.receive(samples.data(), count * sizeof(double))) {
    throw std::runtime_error("the floor has failed");
  }
  return samples;
}

}  // namespace

Pair in_turn(Mode mode, int turns, const std::function<Sampler()>& ours,
             const std::function<Sampler()>& floor) {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::system_error(errno, std::generic_category(), "socketpair");
  }
  Line here(ends[0]);
  Line there(ends[1]);
  Process other([&] {
    here.close();
    place(mode, Side::client);
    play(there, floor());
  });
  there.close();
  const Sampler mine = ours();
  std::vector<double> of_ours;
  std::vector<double> of_floor;
  const auto append = [](std::vector<double>& all, const std::vector<double>& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  for (int turn = -(turns / 10) - 1; turn < turns; ++turn) {
    const std::vector<double> one = mine();
    const std::vector<double> another = ask(here);
    if (turn < 0) continue;
    append(of_ours, one);
    append(of_floor, another);
  }
  here.close();
  other.wait();
  return {.ours = median(std::move(of_ours)), .floor = median(std::move(of_floor))};
}

}  // namespace mortise::bench
