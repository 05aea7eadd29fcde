// SPDX-License-Identifier: MIT
#include "simulation/scene/zookeeper_administrators.hpp"

#include <mortise/zookeeper.hpp>

#include "simulation/zookeeper/jute.hpp"
#include "simulation/zookeeper/numbers.hpp"

#include <chrono>
#include <utility>

namespace simulation {
namespace {

using namespace std::chrono_literals;

/// For the whole call, with a connection that is made anew.
constexpr std::chrono::seconds patience{3};
/// In which a removal is carried out, as a rule, and the next one has its turn.
constexpr Nanos shortest_loss = 1ms;
constexpr Nanos longest_loss = 200ms;

}  // namespace

std::string ZooKeeperAdministrators::take(const std::string& url, const std::string& name,
                                          Random& random) {
  luck_ = Random(random.next());
  const double loses = random.chance(0.7) ? 0.7 : 0;
  const bool two = random.chance(0.3);
  begin(url, name, loses);
  if (two) begin(url, name, loses);
  return (two ? "two administrators take " : "an administrator takes ") + name +
         (loses > 0 ? ", and answers are lost" : "");
}

void ZooKeeperAdministrators::begin(const std::string& url, const std::string& name, double loses) {
  Process& administrator = room_.world.process("administrator");
  one_shots_[&administrator].loses = loses;
  room_.world.spawn(administrator, [url, name] {
    try {
      mortise::zookeeper::force_release(url, name, patience);
    } catch (const mortise::LockError&) {
      // Its own connection suffers like everybody's.
    }
  });
}

// A request may come in pieces. Each begins with the number of its bytes.
void ZooKeeperAdministrators::sent(ConnectionId connection, std::string_view bytes) {
  Connection* const from = room_.network.find(connection);
  const auto found = from == nullptr ? one_shots_.end() : one_shots_.find(&from->process());
  if (found == one_shots_.end()) return;
  OneShot& one_shot = found->second;
  if (std::exchange(one_shot.connection, connection) != connection) one_shot.unread.clear();
  one_shot.unread += bytes;
  constexpr std::size_t head = sizeof(std::int32_t);
  while (one_shot.unread.size() >= head) {
    const auto length = static_cast<std::size_t>(zookeeper::In(one_shot.unread).int32());
    if (one_shot.unread.size() < head + length) return;
    const std::string request = one_shot.unread.substr(head, length);
    one_shot.unread.erase(0, head + length);
    asked(one_shot, request, *from);
  }
}

void ZooKeeperAdministrators::asked(OneShot& one_shot, std::string_view bytes, Connection& from) {
  zookeeper::In request(bytes);
  // The greeting has a nought there.
  if (request.int32() <= 0 || request.int32() != zookeeper::op::remove) return;
  look_at_removal(one_shot, std::string(request.text()));
  if (luck_.chance(one_shot.loses)) lose_answer(from);
}

// S3: a call removes one node, and removes it again where it does not know what has come of that.
void ZooKeeperAdministrators::look_at_removal(OneShot& one_shot, const std::string& path) const {
  if (one_shot.removed.empty()) {
    removes(path);
    one_shot.removed = path;
  }
  if (one_shot.removed == path) return;
  judge->blame("S3",
               "a release by force that has removed " + one_shot.removed + " removes " + path);
}

void ZooKeeperAdministrators::lose_answer(Connection& connection) {
  connection.stall(Connection::Way::down, never);
  room_.world.after(luck_.spread(shortest_loss, longest_loss), [this, id = connection.id()] {
    if (Connection* const lost = room_.network.find(id)) lost->cut(true);
  });
}

}  // namespace simulation
