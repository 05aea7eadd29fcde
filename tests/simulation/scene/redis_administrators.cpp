// SPDX-License-Identifier: MIT
#include "simulation/scene/redis_administrators.hpp"

#include <mortise/redis.hpp>

#include "support/force.hpp"

#include <chrono>
#include <sstream>
#include <string_view>

namespace simulation {
namespace {

/// For the whole call, with all that is asked again.
constexpr std::chrono::seconds patience{2};
/// Before it arrives: nothing is quicker than the network.
constexpr Nanos on_its_way{1'000};

/// @return the number of the hold that an answer tells of, as it stands there.
std::string number_in(std::string_view answer) {
  std::istringstream words{std::string(answer)};
  std::string word;
  for (int i = 0; i < 5; ++i) words >> word;  // letter, now, left, first, number
  return word;
}

/// @return true if the answer reports readers; one of them has lost its hold.
bool is_of_readers(const std::string& number) {
  return number.starts_with('*') || number.starts_with('+');
}

}  // namespace

std::string RedisAdministrators::take(const std::string& url, const std::string& name,
                                      Random& random) {
  luck_ = Random(random.next());
  const double loses = random.chance(0.8) ? 0.6 : 0;
  const bool two = random.chance(0.3);
  begin(url, name, loses);
  if (two) begin(url, name, loses);
  return (two ? "two administrators take " : "an administrator takes ") + name +
         (loses > 0 ? ", and answers are lost" : "");
}

void RedisAdministrators::begin(const std::string& url, const std::string& name, double loses) {
  Process& administrator = room_.world.process("administrator");
  administrator.clock.offset = std::chrono::hours(1);
  one_shots_[&administrator].loses = loses;
  room_.world.spawn(administrator, [url, name] {
    try {
      mortise::test::force_release(mortise::redis::backend(url), name, patience);
    } catch (const mortise::Error&) {
      // Its own connection suffers like everybody's.
    }
  });
}

void RedisAdministrators::runs(const redis::ScriptRun& run) {
  Connection* const from = room_.network.find(run.connection);
  if (from == nullptr) return;
  const auto found = one_shots_.find(&from->process());
  if (found == one_shots_.end()) return;
  OneShot& one_shot = found->second;
  if (run.arguments.size() == 4 && run.answer.starts_with("O ")) look_at_end(one_shot, run);
  if (!luck_.chance(one_shot.loses)) return;
  room_.world.after(on_its_way, [this, id = run.connection] {
    if (Connection* const connection = room_.network.find(id)) connection->cut(true);
  });
}

// S3: a call ends one hold, or the holds of all readers, and only holds that it has found, even if
// a request is repeated.
void RedisAdministrators::look_at_end(OneShot& one_shot, const redis::ScriptRun& run) const {
  const std::string number = number_in(run.answer);
  if (!is_of_readers(number) && ++one_shot.ended > 1) {
    judge->blame("S3", "a release by force has ended two holds");
  }
  // For a hold of Redisson the request also names the owner, which the answer does not repeat.
  const std::string about(run.arguments[2]);
  if (number == about.substr(0, about.find(' ')) || is_of_readers(number)) return;
  judge->blame("S3",
               "a release by force that is about hold " + about + " has ended hold " + number);
}

}  // namespace simulation
