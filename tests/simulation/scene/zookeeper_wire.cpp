// SPDX-License-Identifier: MIT
#include "simulation/scene/zookeeper_wire.hpp"

#include "simulation/zookeeper/jute.hpp"

#include <utility>

namespace simulation {

// A request may come in pieces. Each begins with the number of its bytes.
void ZooKeeperWire::sent(ConnectionId connection, std::string_view bytes) {
  Connection* const from = network_.find(connection);
  const auto found = from == nullptr ? all_.end() : all_.find(&from->process());
  if (found == all_.end()) return;
  Listened& listened = found->second;
  if (std::exchange(listened.connection, connection) != connection) listened.unread.clear();
  listened.unread += bytes;
  constexpr std::size_t head = sizeof(std::int32_t);
  while (listened.unread.size() >= head) {
    const auto length = static_cast<std::size_t>(zookeeper::In(listened.unread).int32());
    if (listened.unread.size() < head + length) return;
    const std::string bytes_of_it = listened.unread.substr(head, length);
    listened.unread.erase(0, head + length);
    zookeeper::In request(bytes_of_it);
    // The greeting has a nought there.
    if (request.int32() <= 0) continue;
    const std::int32_t type = request.int32();
    listened.ear(*from, type, request.rest());
  }
}

}  // namespace simulation
