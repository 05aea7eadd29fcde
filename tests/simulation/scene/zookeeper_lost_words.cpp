// SPDX-License-Identifier: MIT
#include "simulation/scene/zookeeper_lost_words.hpp"

#include <mortise/client.hpp>
#include <mortise/zookeeper.hpp>

#include "core/figures.hpp"
#include "zookeeper/kept.hpp"
#include "zookeeper/lock_path.hpp"

#include <exception>
#include <thread>

namespace simulation {
namespace {

/// Shorter than an answer takes.
constexpr Nanos blink = 5us;

}  // namespace

void ZooKeeperLostWords::come() {
  World& world = room_.world;
  Process& process = world.process("lost for words");
  process.clock.offset = std::chrono::hours(1);
  world.spawn(process, [this] {
    try {
      live();
    } catch (const std::exception& error) {
      judge_.blame("exception", error.what());
    }
    gone_ = true;
  });
  for (int i = 0; i < 600 && !gone_ && !judge_.verdict(); ++i) world.run(world.now() + 50ms);
  if (!gone_ && !judge_.verdict()) judge_.blame("L7", "who hears no answer does not go on");
}

void ZooKeeperLostWords::live() {
  mortise::Client client(mortise::zookeeper::backend(url_));
  for (const bool success : {true, false}) conclude(client, success);
}

void ZooKeeperLostWords::conclude(mortise::Client& client, bool success) {
  const std::string key = success ? "words" : "last words";
  kept_ = mortise::zookeeper::KeyPlace::of("/locks", key).kept;
  was_cut_ = false;
  mortise::Run run = client.make_once(key, {.lease = session_}).begin();
  const auto place = mortise::zookeeper::KeyPlace::of("/locks", key);
  for (const zookeeper::Holder& each : ensemble_.queue(place.queue)) its_session_ = each.session;
  watch_for_it();
  const Nanos began = room_.world.now();
  std::error_code error;
  const mortise::Outcome told = success ? run.succeed("done", error) : run.fail("not", error);
  // What has no answer in time is told so.
  const bool in_time =
      room_.world.now() - began < mortise::core::command_timeout(session_) * 9 / 10;
  if (!was_cut_) return;
  if (told.lost()) judge_.blame("O2", "what is recorded is said to be lost: " + key);
  if (error && in_time) judge_.blame("S5", "what can be known is said to be in doubt: " + key);
}

void ZooKeeperLostWords::watch_for_it() {
  if (gone_ || was_cut_) return;
  const zookeeper::Node* const node = ensemble_.committed().find(kept_);
  const auto kept = node != nullptr && node->data ? mortise::zookeeper::Kept::read(*node->data)
                                                  : std::optional<mortise::zookeeper::Kept>();
  if (kept && kept->record.state != mortise::KeyState::pending) {
    const auto id = ensemble_.connection_of(its_session_);
    if (Connection* const its = id ? room_.network.find(*id) : nullptr) its->cut(true);
    was_cut_ = true;
    return;
  }
  room_.world.after(blink, [this] { watch_for_it(); });
}

}  // namespace simulation
