// SPDX-License-Identifier: MIT
// What the threads of a client do with keys, and what each tells the judge of them.
#include "core/figures.hpp"
#include "simulation/scene/bounds.hpp"
#include "simulation/scene/scene.hpp"
#include "simulation/scene/time_taken.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <thread>

namespace simulation {
namespace {

using mortise::KeyState;

constexpr std::uint64_t key_stream = 10;
constexpr std::size_t calm_runs = 6;

/// Of the keys some have one fingerprint, some are repeated after success by everybody.
enum class Usage { one_request, two_requests, always };
Usage usage_of(std::size_t key) {
  constexpr std::size_t usages = 3;
  return static_cast<Usage>(key % usages);
}

bool may_be_told(const std::error_code& error, const Stand& stand) {
  return mortise::is_retryable(error) || error == mortise::Errc::closed || stand.expects(error);
}

std::string key_name(std::size_t key) { return "key/" + std::to_string(key); }

}  // namespace

void Scene::work_with_keys(Party& party, std::size_t thread) {
  try {
    Random random = Random::of({plan_.seed, key_stream, party.index, thread,
                                static_cast<std::uint64_t>(births_),
                                static_cast<std::uint64_t>(room_.world.now().count())});
    // Fewer than what is locked: several threads of each client do it for the whole storm.
    for (std::uint64_t left = 10 + random.below(150); left > 0 && !calm_ && !party.closing;
         --left) {
      operate_key(party, random, false);
      std::this_thread::sleep_for(random.spread(10us, std::max<Nanos>(plan_.storm / 50, 20ms)));
    }
    while (!calm_ && !party.closing) std::this_thread::sleep_for(20ms);
    if (party.closing) return;
    std::this_thread::sleep_for(random.between(Nanos(0), 2s));
    for (std::size_t i = 0; i < calm_runs && !party.closing; ++i) operate_key(party, random, true);
  } catch (const std::exception& error) {
    judge_.blame("exception", error.what());
  }
}

void Scene::operate_key(Party& party, Random& random, bool calm) {
  ++operations_;
  const Process& process = *party.process;
  Keys::Call call{.key = random.below(plan_.keys), .process = &process, .fingerprint = "a"};
  const Usage usage = usage_of(call.key);
  call.only_one = usage != Usage::two_requests;
  call.always = usage == Usage::always;
  if (!call.only_one && random.chance(0.3)) call.fingerprint = "b";
  mortise::OnceOptions options{
      .keep = std::chrono::duration_cast<std::chrono::milliseconds>(keys_.keep()),
      .fingerprint = call.fingerprint,
      .lease = std::chrono::duration_cast<std::chrono::milliseconds>(plan_.lease),
      .label = "client"};
  if (call.always) options.repeat = mortise::Repeat::always;
  if (!call.always && random.chance(0.2)) options.repeat = mortise::Repeat::never;
  if (random.chance(0.3)) {
    options.wait = Nanos(0);
  } else if (random.chance(0.5)) {
    options.wait = random.spread(Nanos(50'000), 3s);
  }
  try {
    mortise::Once once = party.client->make_once(key_name(call.key), options);
    call.asked = room_.world.now();
    if (random.chance(0.08)) return look_at_key(call, once);
    if (random.chance(0.04)) return forget_key(call, once);
    const TimeTaken taken(room_.world, process);
    if (room_.world.tells) tell(process.name(), "asks for " + key_name(call.key));
    const bool had_time =
        calm && fair() && (options.wait <= Nanos(0) || options.wait >= longest_fair_call);
    std::error_code error;
    mortise::Run run = once.begin(error);
    const Nanos limit = options.wait == mortise::forever ? never
                        : options.wait > Nanos(0)        ? Nanos(options.wait)
                                                  : mortise::core::command_timeout(plan_.lease);
    if (const Nanos beyond = taken.beyond(limit); beyond > grace) {
      judge_.blame("L3", process.name() + ": to begin with " + std::to_string(limit.count()) +
                             " ns went on for " + std::to_string(beyond.count()) + " more");
    }
    if (run) {
      run_key(party, call, run, random);
    } else if (error == mortise::Errc::mismatch) {
      keys_.mismatch(call);
    } else if (error && !may_be_told(error, *stand_)) {
      judge_.blame("L4", process.name() + ": to begin a run says " + run.error_text());
    } else if (!error) {
      // Whoever waits behind others of its process does not ask for itself.
      call.seen = stand_->seen_from(call.asked);
      keys_.told(call, run.outcome(), options.wait > Nanos(0));
    }
    if (error && error != mortise::Errc::mismatch && had_time) {
      judge_.blame("L7", process.name() + ": all is well, and to begin says " + error.message());
    }
  } catch (const mortise::Error& failure) {
    if (failure.errc() != mortise::Errc::closed) throw;
  }
}

void Scene::run_key(Party& party, const Keys::Call& call, mortise::Run& run, Random& random) {
  const Process& process = *party.process;
  const Keys::RunNumber number = keys_.begins(call, run.number(), run.token());
  const std::size_t name = Keys::first_name + call.key;
  const auto hold = judge_.granted(name, {.process = &process,
                                          .left = [&run] { return Nanos(run.valid_for()); },
                                          .token = run.token(),
                                          .asked_at = call.asked});
  if (room_.world.tells) {
    tell(process.name(), "runs " + key_name(call.key) + ", number " + std::to_string(run.number()) +
                             ", token " + std::to_string(run.token().value()));
  }
  const Nanos longest =
      fair() ? std::min(plan_.longest_hold, longest_fair_hold) : plan_.longest_hold;
  // Some outlast their lease, where something keeps it from being renewed.
  const Nanos time = random.chance(0.05) && !calm_ ? plan_.lease + random.between(Nanos(0), 1s)
                                                   : random.spread(Nanos(1'000), longest);
  for (int i = 0; i < 4; ++i) {
    std::this_thread::sleep_for(time / 4);
    judge_.still_holds(name, hold);
  }
  judge_.releasing(name, hold);
  if (random.chance(0.1)) return run.give_back();
  const bool succeeds = random.chance(0.6);
  const std::string bytes = keys_.new_bytes(call.fingerprint);
  keys_.concludes(call, number, succeeds ? KeyState::succeeded : KeyState::failed, bytes);
  const bool all_well = fair();
  const Nanos stolen = room_.world.stolen(process);
  const Nanos began = process.boot_time();
  const Nanos left = run.valid_for();
  std::error_code error;
  const mortise::Outcome outcome = succeeds ? run.succeed(bytes, error) : run.fail(bytes, error);
  const Nanos passed = process.boot_time() - began;
  const Nanos took = passed - (room_.world.stolen(process) - stolen);
  if (took > mortise::core::command_timeout(plan_.lease) + grace) {
    judge_.blame("L4",
                 process.name() + ": a conclusion took " + std::to_string(took.count()) + " ns");
  }
  if (error && !may_be_told(error, *stand_)) {
    judge_.blame("L4", process.name() + ": a conclusion says " + error.message());
  }
  if (error && all_well) {
    judge_.blame("L7", process.name() + ": all is well, and a conclusion is in doubt");
  }
  // Redis' page: without memory nothing has changed, and the hold stands until its lease is over,
  // which was renewed just now, perhaps. So the key was not free (L2): the first who waits looks 2
  // ms behind that end.
  if (error == mortise::Errc::exhausted) {
    judge_.stands_on(name, room_.world.now() + plan_.lease + plan_.lease / 500);
  }
  // What a client has that is being closed is given back meanwhile.
  const bool whole = !party.closing && !judge_.was_taken(name, run.token());
  keys_.concluded(call, number,
                  {.outcome = outcome,
                   .in_doubt = static_cast<bool>(error),
                   .answered = error == mortise::Errc::in_doubt && whole &&
                               passed < mortise::core::command_timeout(plan_.lease) * 9 / 10,
                   .left = whole ? left : Nanos(0),
                   .took = passed});
  if (room_.world.tells) {
    tell(process.name(), "said " + bytes + " of " + key_name(call.key) + ": " +
                             (error            ? error.message()
                              : outcome.lost() ? "lost"
                                               : "recorded"));
  }
}

void Scene::look_at_key(Keys::Call& call, mortise::Once& once) {
  std::error_code error;
  const mortise::Outcome outcome = once.look(error);
  call.seen = stand_->seen_from(call.asked);
  if (!error) keys_.looked(call, outcome);
}

void Scene::forget_key(const Keys::Call& call, mortise::Once& once) {
  if (room_.world.tells) tell(call.process->name(), "forgets " + key_name(call.key));
  keys_.forgets(call);
  std::error_code error;
  const bool forgotten = once.forget(error);
  if (room_.world.tells) {
    tell(call.process->name(), "forgot " + key_name(call.key) + ": " +
                                   (error       ? error.message()
                                    : forgotten ? "yes"
                                                : "no"));
  }
  keys_.forgot(call, error ? std::nullopt : std::optional(forgotten));
}

}  // namespace simulation
