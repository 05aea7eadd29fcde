// SPDX-License-Identifier: MIT
#include "simulation/program/mutants.hpp"

#include "simulation/postgres/mistakes.hpp"
#include "simulation/redis/script_mutants.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace simulation {
namespace {

/// What `base::mutant()` is asked for in the library's source: made by CMake
/// (tests/MutantNames.cmake).
constexpr std::array in_the_library{
#include "mutant_names.inc"
};

/// Of Redis where there is more than one server.
struct OfServers {
  std::string_view name;
  Kind kind;
};
constexpr std::array of_servers{
    OfServers{"redis.old_master_is_believed", Kind::sentinel},
    OfServers{"redis.one_sentinel_is_asked", Kind::sentinel},
    OfServers{"redis.older_epoch_is_believed", Kind::sentinel},
    OfServers{"redis.grant_before_the_replicas", Kind::replicas},
    OfServers{"redis.renewal_before_the_replicas", Kind::replicas},
    OfServers{"redis.waits_for_nothing_new", Kind::replicas},
    OfServers{"redis.one_wait_answers_all", Kind::replicas},
    OfServers{"redis.sleeps_on_the_replicas_word", Kind::replicas},
    OfServers{"redis.ask_is_moved", Kind::cluster},
    OfServers{"redis.ask_without_asking", Kind::cluster},
    OfServers{"redis.inbox_of_the_wrong_node", Kind::cluster},
    OfServers{"redis.subscription_outlives_its_slot", Kind::cluster},
    OfServers{"redis.slot_on_its_way_frees_readers", Kind::cluster},
};

std::vector<Kind> kinds_of(std::string_view name) {
  for (const OfServers& each : of_servers) {
    if (name == each.name) return {each.kind};
  }
  if (name.starts_with("redis.")) return {Kind::redis};
  if (name.starts_with("redlock.")) return {Kind::redlock};
  if (name.starts_with("zookeeper.")) return {Kind::zookeeper};
  if (name.starts_with("postgres.")) return {Kind::postgres};
  // Only administrators of these stores lose answers.
  if (name == "core.force_takes_the_next") return {Kind::redis, Kind::zookeeper};
  // By other ways the servers tell as well, by themselves.
  if (name == "core.news_lies_unread") return {Kind::redlock};
  // One clock and no connections: what these do there is right.
  constexpr std::array needs_a_network{std::string_view("core.leave_without_a_call"),
                                       std::string_view("core.moment_after_linger"),
                                       std::string_view("core.no_margin")};
  if (std::find(needs_a_network.begin(), needs_a_network.end(), name) != needs_a_network.end()) {
    return {Kind::redis};
  }
  if (name.starts_with("memory.") || name == "core.one_sharer_learns_the_loss") {
    return {Kind::memory};
  }
  // Memory's runs aim at it: see Schedule::stale.
  if (name == "core.timer_set_late") return {Kind::memory};
  return {Kind::memory, Kind::redis};
}

/// Tests find these. The simulation finds them late or never: no judge looks at the order
/// between readers and writers, or at a waiter that only asks too rarely, and seeds hardly ever
/// lead to the order of events in which the others do harm.
bool is_left_to_tests(std::string_view name) {
  constexpr std::array left{
      std::string_view("core.joins_before_a_writer"),        // contract: shared_*
      std::string_view("core.sharers_never_end"),            // contract: shared_*
      std::string_view("memory.reader_overtakes_a_writer"),  // contract: shared_*
      std::string_view("core.forget_what_is_taken"),         // contract: core_taken_early
      std::string_view("core.open_requests_sleep_on_after_a_suspend"),  // contract: core_waits
      std::string_view("core.force_ends_one_hold"),                     // unit: force_course
      std::string_view("redis.take_back_from_another_connection"),      // unit: remote_under_way
      std::string_view("redis.send_what_is_withdrawn"),                 // fault: redis_requesters
      std::string_view("postgres.deaf_for_ever"),                       // fault: postgres_notify
  };
  return std::find(left.begin(), left.end(), name) != left.end();
}

void add(std::vector<Mutant>& all, std::string_view name) {
  if (is_left_to_tests(name)) return;
  const bool there = std::any_of(all.begin(), all.end(),
                                 [&](const Mutant& mutant) { return mutant.name == name; });
  if (!there) all.push_back({std::string(name), kinds_of(name)});
}

}  // namespace

const std::vector<Mutant>& all_mutants() {
  static const std::vector<Mutant> all = [] {
    std::vector<Mutant> made;
    for (const std::string_view name : in_the_library) add(made, name);
    for (const auto& mutant : redis::script_mutants()) add(made, mutant.name);
    for (const auto& mistake : postgres::mistake_names) add(made, mistake.name);
    std::sort(made.begin(), made.end(),
              [](const Mutant& a, const Mutant& b) { return a.name < b.name; });
    return made;
  }();
  return all;
}

}  // namespace simulation
