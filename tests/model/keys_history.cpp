// SPDX-License-Identifier: MIT
#include "model/keys_history.hpp"

#include "model/keys_worker.hpp"

#include <algorithm>
#include <utility>

namespace mortise::model {

namespace {

// More than a run comes to: a key is asked for at least as often as KeyBook says.
constexpr std::uint64_t keys_a_second = 500;

std::uint64_t seconds_of(std::chrono::milliseconds length) {
  return static_cast<std::uint64_t>(length.count()) / 1000 + 3;
}

}  // namespace

std::string KeyChronicle::text() const { return holds.figures + "\n  keys " + keys.text(); }

KeyChronicle play_keys(HistoryBackend backend, Workload workload, const Adversity& adversity,
                       StoryTime& time, std::uint64_t seed, std::chrono::milliseconds length) {
  const auto keys = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(keys_a_second * seconds_of(length), KeyBook::most_keys));
  KeyBook book(keys, events_a_second * seconds_of(length));
  workload.names = keys;
  workload.player = that_runs_keys(book);
  if (adversity.robbed) {
    backend.disturbances.push_back(
        {.name = "run taken away", .bring_about = [&book](Stage& stage, Dice& dice) {
           stage.store->take_key_away(stage.names[book.front() + dice.below(KeyBook::window)]);
         }});
  }
  Stage stage(backend.under_test, workload, time, seed, length);
  KeyChronicle chronicle;
  chronicle.holds = play(stage, backend, adversity, length, backend.fewest_grants(length) / 4);
  chronicle.keys = check_keys(book, repeat_of_key);
  chronicle.surprises = stage.tally->surprises.load();
  chronicle.lost_early = stage.tally->lost_early.load();
  chronicle.healed = stage.tally->healed.load();
  chronicle.has_processes = stage.has(contract::Hook::processes);
  return chronicle;
}

}  // namespace mortise::model
