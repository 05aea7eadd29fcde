// SPDX-License-Identifier: MIT
// What a worker asks and is told; what it does with a run is in keys_worker_run.cpp.
#include "model/keys_worker.hpp"

#include "model/relay.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <exception>
#include <utility>

namespace mortise::model {

namespace {

using namespace std::chrono_literals;

// For longer than any history, also one whose time flies.
constexpr std::chrono::milliseconds keep = std::chrono::hours(24 * 365);
constexpr std::uint32_t looked_at_in_the_end = 50;

// No hold of it is ever renewed, as if its process stood still.
class Unrenewed final : public Relay {
 public:
  using Relay::Relay;
  void renew(const std::shared_ptr<Renewal>& /*operation*/) override {}
};

std::string fingerprint_of(std::uint32_t key) { return "request " + std::to_string(key); }

bool is_no_answer(std::error_code why) {
  return why == Errc::unavailable || why == Errc::in_doubt || why == Errc::timeout;
}

}  // namespace

Repeat repeat_of_key(std::uint32_t key) noexcept {
  if (key % 8 == 6) return Repeat::never;
  return key % 8 == 7 ? Repeat::always : Repeat::after_failure;
}

MakePlayer that_runs_keys(KeyBook& book) {
  return [&book](const Company& company, std::uint32_t owner) {
    return std::make_unique<KeyWorker>(company, owner, book);
  };
}

KeyWorker::KeyWorker(const Company& company, std::uint32_t owner, KeyBook& book)
    : company_(company),
      tally_(company.stage.tally),
      number_(owner),
      who_{.process = company.process, .owner = owner},
      book_(book),
      dice_(company.stage.seed, company.process + 1, owner + 1) {
  if (company.stage.capabilities.leases == Support::yes && company.stage.workload.oversleeps > 0) {
    ClientOptions options;
    options.clock = company.stage.time.clock();
    // It dies with its process, or its end would free what nobody has given back.
    auto backend = std::make_unique<CutRelay>(company.stage.backend(), company.cut);
    unrenewed_.emplace(std::make_unique<Unrenewed>(std::move(backend)), std::move(options));
  }
}

void KeyWorker::run() noexcept {
  const Workload& workload = company_.stage.workload;
  try {
    while (company_.stage.plays_on() && !over()) {
      company_.stage.time.sleep(dice_.between(0ns, workload.thought));
      const std::uint32_t key = any_key();
      if (dice_.chance(0.1)) {
        look_at(key);
      } else if (dice_.chance(0.05)) {
        ask_for_another(key);
      } else {
        cycle(key, draw());
      }
      if (dice_.chance(0.1)) company_.attempts[dice_.below(workload.threads)].cancel();
    }
    if (!over()) see_that_all_is_well();
  } catch (const std::exception& error) {
    surprise(error.what());
  }
}

std::uint32_t KeyWorker::any_key() {
  const std::uint32_t front = book_.front();
  if (front > 0 && dice_.chance(0.15)) return dice_.below(front);
  return front + dice_.below(KeyBook::window);
}

KeyWorker::Manner KeyWorker::draw() {
  const Workload& workload = company_.stage.workload;
  Manner manner;
  const std::uint32_t way = dice_.below(4);
  manner.options.wait = way == 0   ? 0ns
                        : way == 1 ? dice_.between(1ns, 5ms)
                                   : dice_.between(5ms, workload.longest_wait);
  if (dice_.chance(0.2)) manner.options.stop = company_.attempts[number_].begin();
  const std::uint32_t plan = dice_.below(10);
  manner.plan = plan == 0 ? Plan::give_back : plan < 3 ? Plan::fail : Plan::succeed;
  manner.by_hand = dice_.chance(0.6);
  manner.oversleeps = unrenewed_ && dice_.chance(workload.oversleeps);
  manner.lasts = dice_.chance(workload.long_holds);
  return manner;
}

Once KeyWorker::handle(std::uint32_t key, const Manner& manner) {
  OnceOptions options = manner.options;
  options.keep = keep;
  if (options.fingerprint.empty()) options.fingerprint = fingerprint_of(key);
  options.repeat = repeat_of_key(key);
  options.lease = company_.stage.workload.lock.lease;
  Client& client = manner.oversleeps ? *unrenewed_ : company_.client;
  return client.make_once(company_.stage.names[key], options);
}

bool KeyWorker::cycle(std::uint32_t key, const Manner& manner) {
  Once once = handle(key, manner);
  Asked asked{.call = who_, .attempt = {}, .key = key};
  asked.attempt = company_.recorder.invoke_acquire(number_, key);
  asked.call.key = key;
  const bool may_leave = manner.options.wait > 0ns || manner.options.stop.stop_possible();
  asked.call = book_.ask(asked.call, {.waits = may_leave}, now());
  return manner.by_hand ? by_hand(asked, once, manner) : by_body(asked, once, manner);
}

bool KeyWorker::by_hand(const Asked& asked, Once& once, const Manner& manner) {
  std::error_code why;
  Run run = once.begin(why);
  if (over()) return false;
  if (!run) return told(asked, run.outcome(), why, run.error());
  Held held = begun(asked, run);
  work(held, manner);
  --tally_->holding[company_.process];
  if (over()) return false;
  look(held);
  const RecordedCall call = company_.recorder.invoke_release(held.hold);
  if (manner.plan == Plan::give_back) {
    run.give_back();
    if (!over()) company_.recorder.returned(call, Outcome::unknown);
    return false;
  }
  const bool succeeds = manner.plan == Plan::succeed;
  const std::string bytes = concluding(asked, succeeds ? KeyState::succeeded : KeyState::failed);
  const mortise::Outcome outcome = succeeds ? run.succeed(bytes, why) : run.fail(bytes, why);
  return concluded(asked, held, call, outcome, why, bytes);
}

bool KeyWorker::by_body(const Asked& asked, Once& once, const Manner& manner) {
  std::error_code why;
  std::optional<Held> held;
  RecordedCall call;
  std::string bytes;
  const auto body = [&](Run& run) {
    held.emplace(begun(asked, run));
    work(*held, manner);
    --tally_->holding[company_.process];
    if (over()) {
      run.give_back();
      throw Dead();
    }
    look(*held);
    call = company_.recorder.invoke_release(held->hold);
    if (manner.plan == Plan::give_back) {
      run.give_back();
    } else if (manner.plan == Plan::fail) {
      bytes = "an exception without words";
      book_.concluding(asked.call, KeyState::failed, bytes, now());
      throw Refuses();
    } else {
      bytes = concluding(asked, KeyState::succeeded);
    }
    return std::string_view(bytes);
  };
  mortise::Outcome outcome;
  try {
    outcome = once.run(body, why);
  } catch (const Dead&) {
    return false;
  } catch (const Refuses&) {
    // What became of it, the caller of a body that throws is not told.
    if (!over()) company_.recorder.returned(call, Outcome::unknown);
    return false;
  }
  if (over()) return false;
  if (!held) return told(asked, outcome, why, why);
  if (manner.plan != Plan::succeed) {
    company_.recorder.returned(call, Outcome::unknown);
    return false;
  }
  return concluded(asked, *held, call, outcome, why, bytes);
}

bool KeyWorker::told(const Asked& asked, const mortise::Outcome& outcome, std::error_code why,
                     std::error_code contention) {
  const bool answered = !why;
  company_.recorder.returned(
      asked.attempt, answered && contention != Errc::cancelled ? Outcome::fail : Outcome::unknown);
  if (is_no_answer(why)) {
    ++tally_->unavailable;
    return is(false, why.message());
  }
  if (why) {
    surprise("to begin a run says " + why.message());
    return false;
  }
  if (outcome.state() == KeyState::pending) {
    ++(contention == Errc::cancelled ? tally_->cancelled : tally_->timed_out);
  } else if (outcome.state() == KeyState::absent) {
    surprise("it is told that there is nothing, and not to run");
  }
  book_.told(asked.call, outcome, now());
  const bool ended =
      outcome.state() == KeyState::succeeded ||
      (outcome.state() == KeyState::failed && repeat_of_key(asked.key) == Repeat::never);
  if (ended) book_.settled(asked.key);
  return is(ended, "state " + std::to_string(static_cast<int>(outcome.state())) + " of token " +
                       std::to_string(outcome.token().value()));
}

bool KeyWorker::is(bool ended, const std::string& answer) {
  last_answer_ = answer;
  return ended;
}

void KeyWorker::look_at(std::uint32_t key) {
  Once once = handle(key, {});
  KeyCall call = who_;
  call.key = key;
  call = book_.ask(call, {.looks = true}, now());
  std::error_code why;
  const mortise::Outcome outcome = once.look(why);
  if (over()) return;
  if (why && !is_no_answer(why)) return surprise("a look says " + why.message());
  if (!why) book_.told(call, outcome, now());
}

// A key of which it knows that the store remembers it, and by another's fingerprint.
void KeyWorker::ask_for_another(std::uint32_t key) {
  if (!book_.has_begun(key)) return;
  std::error_code why;
  const mortise::Outcome known = handle(key, {}).look(why);
  if (why || known.state() == KeyState::absent || over()) return;
  Manner manner;
  manner.options.fingerprint = "another request";
  manner.options.wait = dice_.chance(0.5) ? 0ns : dice_.between(1ns, 20ms);
  Once once = handle(key, manner);
  KeyCall call = who_;
  call.key = key;
  const bool waits = manner.options.wait > 0ns;
  call = book_.ask(call, {.waits = waits, .other_request = true}, now());
  Run run = once.begin(why);
  if (over()) return;
  if (run) {
    book_.begun(call, run.token().value(), run.number(), now());
  } else if (why == Errc::mismatch) {
    book_.told_mismatch(call, now());
  } else if (!why) {
    book_.told(call, run.outcome(), now());
  } else if (!is_no_answer(why)) {
    surprise("another request says " + why.message());
  }
}

void KeyWorker::see_that_all_is_well() {
  const std::uint32_t front = book_.front();
  for (std::uint32_t key = front; key < front + KeyBook::window; ++key) {
    const auto until = std::chrono::steady_clock::now() + patience_after_faults;
    bool ended = false;
    while (!ended && !over() && std::chrono::steady_clock::now() < until) {
      Manner manner;
      manner.options.wait = company_.stage.workload.longest_wait;
      manner.by_hand = dice_.chance(0.5);
      ended = cycle(key, manner);
    }
    if (!ended) {
      return surprise("the key \"" + company_.stage.names[key] +
                      "\" comes to no end after the faults: told last, " + last_answer_);
    }
  }
  for (std::uint32_t left = std::min(front, looked_at_in_the_end); left > 0; --left) {
    look_at(dice_.below(front));
  }
  ++tally_->healed;
}

void KeyWorker::surprise(const std::string& what) {
  if (over()) return;
  ++tally_->surprises;
  std::fprintf(stderr, "process %u owner %u: %s\n", company_.process, number_, what.c_str());
}

}  // namespace mortise::model
