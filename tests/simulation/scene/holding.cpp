// SPDX-License-Identifier: MIT
// What an owner does with its hold, and what it may expect of it meanwhile.
#include "core/figures.hpp"
#include "simulation/scene/bounds.hpp"
#include "simulation/scene/reading_on.hpp"
#include "simulation/scene/scene.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>

namespace simulation {

namespace {

/// @return the number that the server gave to a grant.
std::uint64_t number_of(mortise::Token token) {
  return token.value() / mortise::core::tokens_in_a_grant;
}

}  // namespace

void Scene::hold(Party& party, std::size_t name, mortise::Lock& lock, Random& random, bool calm,
                 Asked asked) {
  const Process& process = *party.process;
  const mortise::Owner owner = mortise::Owner::this_thread();
  const mortise::Token token = lock.token(owner);
  const auto number = judge_.granted(
      name, {.process = &process,
             .left =
                 [&lock, owner, token] {
                   return lock.token(owner) == token ? Nanos(lock.valid_for(owner)) : Nanos(0);
                 },
             .token = token,
             .unseen = !stand_->seen_by_strangers(party.index),
             .shared = asked.reads,
             .asked_at = asked.at});
  if (room_.world.tells) {
    tell(process.name(), "holds " + lock_name(name) + ", token " + std::to_string(token.value()));
  }
  stand_->told(lock_name(name), token);
  // S8: whoever was not stopped on the way is told of nothing that is over.
  if (!judge_.still_holds(name, number) && asked.alone &&
      World::unhindered(*World::running(), asked.at)) {
    judge_.blame("S8", process.name() + ": a grant that is over when it is told");
  }
  look_at_truth(process, name, lock, owner);
  const bool again = random.chance(plan_.reentered);
  bool entered = false;
  if (again) {
    std::error_code error;
    entered = lock.acquire({.wait = Nanos(0)}, error);
  }
  const std::stop_token at_a_loss = lock.lost(owner);
  // Kept for ever, or its destructor would wait for the call: callbacks may outlive what they tell.
  if (plan_.blocks && random.chance(0.3)) {
    static_cast<void>(new std::stop_callback(
        at_a_loss, +[] { std::this_thread::sleep_for(5s); }));
  }
  if (party.closes_at_a_loss) {
    const auto close = [this, &party] { close_at_a_loss(party); };
    static_cast<void>(new std::stop_callback(at_a_loss, close));
  }
  const std::function<void()> afterwards = stand_->use(lock, owner, random);
  const Nanos longest =
      fair() ? std::min(plan_.longest_hold, longest_fair_hold) : plan_.longest_hold;
  if (!calm && random.chance(plan_.outlived)) {
    // Half of them to the very end: what ends a hold and what its owner does meet there.
    keep(process, lock, owner, name, number,
         random.chance(0.5)
             ? random.between(plan_.lease / 2, plan_.lease + plan_.lease / 2)
             : std::min(lock.valid_for(owner), plan_.lease) + random.between(Nanos(0), 20us));
  } else if (longest > 30us || random.chance(0.3)) {
    keep(process, lock, owner, name, number, random.spread(Nanos(1'000), longest));
  }
  sit_on(party, name, number, lock, owner);
  std::optional<ReadingOn> reading_on;
  if (plan_.readers > 0 && !asked.reads && !party.closing && random.chance(plan_.readers / 3) &&
      party.client->capabilities().shared_mode == mortise::Support::yes) {
    reading_on.emplace(
        room_, judge_, process, name, number,
        party.client->make_lock(
            lock_name(name),
            {.lease = std::chrono::duration_cast<std::chrono::milliseconds>(plan_.lease),
             .renew = plan_.renew,
             .label = "reads on",
             .mode = mortise::Mode::shared}),
        [&](mortise::Lock& reader) { look_at_truth(process, name, reader, owner); });
    if (!calm) reading_on->keep_for(random.spread(Nanos(1'000), std::min(longest, plan_.lease)));
  }
  if (party.closing) return let_go_after_close(party, name, number, lock);
  look_at_truth(process, name, lock, owner);
  const std::stop_token lost = lock.lost(owner);
  const bool held = judge_.still_holds(name, number);
  if (!held && !lost.stop_requested()) await_the_loss(process, lost);
  if (!held) {
    std::error_code refused;
    if (lock.acquire({.wait = Nanos(0)}, refused)) {
      judge_.blame("S7", process.name() + ": a lost hold was entered again");
    }
  }
  if (held && lost.stop_requested()) {
    judge_.blame("S6", process.name() + ": lost, and valid all the same");
  }
  if (entered) {
    std::error_code error;
    lock.unlock(error, owner);
    judge_.still_holds(name, number);
  }
  const bool taken = judge_.was_taken(name, number);
  judge_.releasing(name, number);
  const bool fair_when_released = fair();
  const Nanos stolen = room_.world.stolen(process);
  const Nanos began = process.boot_time();
  const Nanos left = lock.valid_for(owner);
  std::error_code error;
  const mortise::Released released = lock.release(error, owner);
  const Nanos passed = process.boot_time() - began;
  const Nanos took = passed - (room_.world.stolen(process) - stolen);
  if (took > mortise::core::command_timeout(plan_.lease) + grace) {
    judge_.blame("L4", process.name() + ": release took " + std::to_string(took.count()) + " ns");
  }
  if (released == mortise::Released::released) stand_->released(lock_name(name), token);
  if (released == mortise::Released::released && held && !taken) {
    asked.call.is_over(stand_->rest_of_a_release());
  }
  if (party.closing) return;  // since a moment ago
  if (!held && released != mortise::Released::was_lost) {
    judge_.blame("S7", process.name() + ": a lost hold is said to be " +
                           (released == mortise::Released::released ? "released" : "unknown"));
  }
  if (error) judge_.blame("S7", process.name() + ": release says " + error.message());
  // Its time was not over by the end of the call: what nobody renews may end just here.
  // What an old master grants until it is told is lost with it, where a fail-over loses things.
  const bool may_be_lost = plan_.forgets && room_.world.now() < clear_from_;
  const bool stood = calm && held && left > passed && !may_be_lost;
  if (stood && !taken && !judge_.excused(name, token) && released == mortise::Released::was_lost) {
    judge_.blame("S3", process.name() + ": a hold that stood is said to be lost");
  }
  if (fair_when_released && (took > longest_fair_call || released == mortise::Released::unknown)) {
    judge_.blame("L7", process.name() + ": all is well, and a release takes " +
                           std::to_string(took.count()) + " ns, or is in doubt");
  }
  if (held) look_at_release(process, name, token, left, passed, released);
  if (room_.world.tells) {
    tell(process.name(), std::string("released ") + lock_name(name) + ": " +
                             (released == mortise::Released::released   ? "released"
                              : released == mortise::Released::was_lost ? "was lost"
                                                                        : "unknown"));
  }
  if (afterwards) afterwards();
}

// S9: what an owner does with its hold while its client is being closed, or once it is, does no
// harm and takes no time.
void Scene::let_go_after_close(const Party& party, std::size_t name, Judge::HoldNumber number,
                               mortise::Lock& lock) {
  const Process& process = *party.process;
  judge_.releasing(name, number);
  const Nanos stolen = room_.world.stolen(process);
  const Nanos began = room_.world.now();
  std::error_code error;
  static_cast<void>(lock.release(error));
  const Nanos took = room_.world.now() - began - (room_.world.stolen(process) - stolen);
  if (took > mortise::core::command_timeout(plan_.lease) + grace) {
    judge_.blame("L4", process.name() + ": release took " + std::to_string(took.count()) + " ns");
  }
  if (error) judge_.blame("S9", process.name() + ": release says " + error.message());
  if (!party.shut) return;
  std::error_code refused;
  if (lock.acquire({.wait = Nanos(0)}, refused) || refused != mortise::Errc::closed) {
    judge_.blame("S9", process.name() + ": a lock of a closed client says " + refused.message());
  }
}

void Scene::look_at_truth(const Process& process, std::size_t name, mortise::Lock& lock,
                          mortise::Owner owner) {
  if (plan_.forgets) return;
  const std::optional<Stand::Truth> truth =
      plan_.readers > 0 ? stand_->truth_of(name, number_of(lock.token(owner)))
                        : stand_->safe_truth(name);
  if (!truth) return;
  Nanos left{};
  {
    const World::Outside outside;  // no time passes between the two looks
    left = room_.as(process, [&] { return lock.valid_for(owner); });
  }
  if (left <= Nanos(0) || judge_.excused(name, lock.token(owner))) return;
  if (truth->number != number_of(lock.token(owner))) {
    judge_.blame("S1", process.name() + ": believes that it holds what the server has given to " +
                           std::to_string(truth->number));
  } else if (truth->left < left) {
    judge_.blame("S1", process.name() + ": believes that it holds for " +
                           std::to_string(left.count()) + " ns; the server says " +
                           std::to_string(truth->left.count()));
  }
}

void Scene::look_at_release(const Process& process, std::size_t name, mortise::Token token,
                            Nanos left, Nanos took, mortise::Released said) {
  const bool unknown = said == mortise::Released::unknown;
  if (unknown && room_.world.now() - took * 2 > clear_from_) {
    judge_.blame("L7", process.name() + ": a release is not answered although all is well");
  }
  const std::optional<Stand::Truth> truth = stand_->truth_of(name, number_of(token));
  // What a fail-over has forgotten may have been lost, and what somebody else has since tells
  // nothing of before.
  if (!truth || plan_.forgets || judge_.excused(name, token) || truth->number != number_of(token))
    return;
  // The answer came from a server that had given the name on, of which its successor knows nothing.
  if (judge_.was_given_on_in_vain(name, token)) return;
  const Nanos error_of_clocks = took / 500 + 1ms;
  if (said == mortise::Released::was_lost && took + error_of_clocks < left) {
    judge_.blame("S3", process.name() + ": a hold that nobody else had is said to be lost");
  }
  const Nanos patience = mortise::core::command_timeout(plan_.lease) * 9 / 10;
  // A stranger may have had it since, which leaves no number, and whoever repeats its release then
  // cannot tell what ended its hold.
  if (stand_->strangers() > 0) return;
  if (unknown && truth->left <= Nanos(0) && took < patience) {
    judge_.blame("S3", process.name() + ": a release that was done is said to be unknown");
  }
}

std::shared_ptr<mortise::Observer> Scene::watch_losses(const Process& process) {
  struct Watch final : mortise::Observer {
    Watch(Scene& its_scene, const Process& its_process) : scene(its_scene), process(its_process) {}
    void lost(const mortise::Event& event, const mortise::Failure& why) noexcept override {
      // What has lapsed may stand at the server for a moment. Of keys and permits it knows nothing.
      if (!event.name.starts_with(name_begins)) return;
      if (why.text.find("the server no longer knows") == std::string::npos) return;
      const auto name = std::strtoul(event.name.substr(name_begins.size()).data(), nullptr, 10);
      const std::optional<Stand::Truth> truth =
          scene.stand_->truth_of(name, number_of(event.token));
      if (!truth || truth->left <= Nanos(0) || truth->number != number_of(event.token)) return;
      scene.judge_.blame("S3", process.name() + ": a hold that stands is told as lost");
    }
    Scene& scene;
    const Process& process;
  };
  return std::make_shared<Watch>(*this, process);
}

// Looks now and then: what is over stays over.
void Scene::keep(const Process& process, mortise::Lock& lock, mortise::Owner owner,
                 std::size_t name, Judge::HoldNumber number, Nanos time) {
  constexpr int looks = 8;
  const int parts = time > 50ms ? looks : 1;
  for (int i = 1; i <= parts; ++i) {
    std::this_thread::sleep_for(time / parts);
    if (i == parts) return;
    judge_.still_holds(name, number);
    look_at_truth(process, name, lock, owner);
  }
}

// Cut off, and not aware of it: whoever would let go in time breaks nothing. Meanwhile it looks how
// much is left, and what whoever observes was told.
void Scene::sit_on(const Party& party, std::size_t name, Judge::HoldNumber number,
                   const mortise::Lock& lock, mortise::Owner owner) {
  const Process& process = *party.process;
  const auto kept = keeps_.find(&process);
  if (kept == keeps_.end()) return;
  const auto told_at = stand_->told_at();
  struct Look {
    Nanos left;
    bool heard;
    Nanos stolen;
  };
  // All of one moment: a thread that stopped between two of them would lay a renewal that came
  // meanwhile, and ended the failure that was told, beside what was left before.
  const auto look = [&] {
    const World::Outside outside;
    return room_.as(process, [&] {
      return Look{.left = lock.valid_for(owner),
                  .heard = party.listener && party.listener->heard_failure(lock.token(owner)),
                  .stolen = room_.world.stolen(process)};
    });
  };
  Nanos stolen{-1};
  Nanos before{0};
  while (room_.world.now() < kept->second && judge_.still_holds(name, number)) {
    const Look now = look();
    // A renewal may prove little: the next one is asked for at once, and not a quarter before.
    if (now.left > before) stolen = now.left > told_at.asked ? now.stolen : Nanos(-1);
    before = now.left;
    if (plan_.renew && now.left > 0ns && now.left < told_at.told && now.stolen == stolen &&
        !now.heard) {
      judge_.blame("told", process.name() + ": nobody was told of failing renewals with " +
                               std::to_string(now.left.count()) + " ns left");
      return;
    }
    std::this_thread::sleep_for(10ms);
  }
}

// S6: within 50 ms of the deadline, or of going on.
void Scene::await_the_loss(const Process& process, const std::stop_token& lost) {
  for (;;) {
    const Nanos stolen = room_.world.stolen(process);
    std::this_thread::sleep_for(grace);
    if (lost.stop_requested()) return;
    if (room_.world.stolen(process) == stolen) break;
  }
  judge_.blame("S6", process.name() + ": a hold is over, and lost() says nothing");
}

}  // namespace simulation
