// SPDX-License-Identifier: MIT
// The client's end of a connection, as the system's calls show it.
#include "simulation/world/network.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace simulation {

short Socket::ready() const {
  switch (state) {
    case State::fresh: return POLLOUT | POLLHUP;
    case State::connecting: return 0;
    case State::ended: return POLLIN | POLLOUT;
    case State::broken: return POLLIN | POLLOUT | POLLERR | POLLHUP;
    case State::connected: break;
  }
  int ready = 0;
  if (in_read < in.size()) ready |= POLLIN;
  if (connection && connection->room() > 0) ready |= POLLOUT;
  return static_cast<short>(ready);
}

void Socket::closed() {
  if (connection) std::exchange(connection, nullptr)->client_closed(true);
}

int Socket::connect(Host* to) {
  if (to == nullptr) return ECONNREFUSED;
  state = State::connecting;
  connection = network_.open(*this, *to);
  return EINPROGRESS;
}

long Socket::send(const void* bytes, std::size_t size, int& why) {
  switch (state) {
    case State::connected: break;
    case State::connecting: why = EAGAIN; return -1;
    case State::broken:
      why = std::exchange(error, 0);
      if (why == 0) why = EPIPE;
      return -1;
    default: why = state == State::ended ? EPIPE : ENOTCONN; return -1;
  }
  if (connection->trapped()) {
    connection->sprung();
    why = std::exchange(error, 0);
    return -1;
  }
  const std::size_t sent = connection->send_up(static_cast<const char*>(bytes), size);
  if (sent == 0) {
    why = EAGAIN;
    return -1;
  }
  return static_cast<long>(sent);
}

long Socket::receive(void* into, std::size_t size, bool peek, int& why) {
  const std::size_t there = in.size() - in_read;
  if (there > 0 && state != State::broken) {
    const std::size_t taken = std::min(size, there);
    std::memcpy(into, in.data() + in_read, taken);
    if (!peek) in_read += taken;
    if (in_read == in.size()) {
      in.clear();
      in_read = 0;
    }
    return static_cast<long>(taken);
  }
  switch (state) {
    case State::ended: return 0;
    case State::broken: why = std::exchange(error, 0); return why == 0 ? 0 : -1;
    case State::fresh: why = ENOTCONN; return -1;
    default: why = EAGAIN; return -1;
  }
}

int Socket::take_error() noexcept { return std::exchange(error, 0); }

}  // namespace simulation
