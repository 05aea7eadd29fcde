// SPDX-License-Identifier: MIT
// The clock is read before valid_for(), so that a recorded deadline is never later than the real
// one, and after it where the question is whether a loss came before its deadline.
#include "model/history_worker.hpp"

#include "core/figures.hpp"

#include <cstdio>
#include <exception>
#include <utility>

namespace mortise::model {

namespace {

using namespace std::chrono_literals;

Outcome outcome_of(Released released) {
  switch (released) {
    case Released::released: return Outcome::ok;
    case Released::was_lost: return Outcome::was_lost;
    case Released::unknown: break;
  }
  return Outcome::unknown;
}

}  // namespace

HistoryWorker::HistoryWorker(const Company& company, std::uint32_t owner)
    : company_(company),
      tally_(company.stage.tally),
      number_(owner),
      dice_(company.stage.seed, company.process + 1, owner + 1),
      resource_(company.stage.directory.path()),
      renewed_(grips(true, false)),
      unrenewed_(grips(false, false)) {
  if (company_.stage.workload.readers > 0) {
    shared_ = grips(true, true);
    shared_unrenewed_ = grips(false, true);
  }
}

HistoryWorker::Grips HistoryWorker::grips(bool renew, bool shared) const {
  const Workload& workload = company_.stage.workload;
  LockOptions options = workload.lock;
  options.renew = renew;
  if (shared) options.mode = Mode::shared;
  Grips made;
  for (const std::string& name : company_.stage.names) {
    if (workload.permits != 0) {
      made.push_back(std::make_unique<SemaphoreGrip>(
          company_.client.make_semaphore(name, workload.permits, options)));
    } else {
      made.push_back(std::make_unique<LockGrip>(company_.client.make_lock(name, options),
                                                shared ? Shape::shared : Shape::exclusive));
    }
  }
  return made;
}

void HistoryWorker::run() noexcept {
  const Workload& workload = company_.stage.workload;
  try {
    while (company_.stage.plays_on() && !over()) {
      company_.stage.time.sleep(dice_.between(0ns, workload.thought));
      cycle(dice_.below(workload.names), draw());
      if (dice_.chance(0.3)) {
        company_.attempts[dice_.below(workload.threads)].cancel();
      }
    }
    if (!over()) take_each_once_more();
  } catch (const std::exception& error) {
    surprise(error.what());
  }
}

HistoryWorker::Manner HistoryWorker::draw() {
  const Workload& workload = company_.stage.workload;
  Manner manner;
  const std::uint32_t way = dice_.below(4);
  manner.options.wait = way == 0   ? 0ns
                        : way == 1 ? dice_.between(1ns, 5ms)
                                   : dice_.between(5ms, workload.longest_wait);
  if (dice_.chance(0.2)) manner.options.stop = company_.attempts[number_].begin();
  if (dice_.chance(0.2)) manner.options.owner = Owner::unique();
  manner.oversleeps = dice_.chance(workload.oversleeps);
  manner.shared = workload.readers > 0 && dice_.chance(workload.readers);
  return manner;
}

bool HistoryWorker::cycle(std::uint32_t name, const Manner& manner) {
  const Grips& exclusive = manner.oversleeps ? unrenewed_ : renewed_;
  const Grips& shared = manner.oversleeps ? shared_unrenewed_ : shared_;
  Grip& grip = *(manner.shared ? shared : exclusive)[name];
  const Attempt attempt = company_.recorder.invoke_acquire(number_, name, grip.shape());
  const std::int64_t asked = company_.recorder.now();
  std::error_code why;
  const bool granted = grip.acquire(manner.options, why);
  if (over()) return false;
  if (!granted) {
    refused(attempt, why);
    return false;
  }
  const Owner owner = manner.options.owner;
  Held held{.grip = grip, .owner = owner, .hold = {}};
  const std::int64_t before = company_.recorder.now();
  const std::chrono::nanoseconds valid = grip.valid_for(owner);
  // A process that was stopped right behind the grant finds a hold that has ended: when, nobody can
  // tell any more, but not after this look, and nobody ever believed in it.
  if (valid != forever) held.deadline = valid == 0ns ? asked : before + valid.count();
  held.hold = company_.recorder.granted(attempt, grip.token(owner), held.deadline);
  ++tally_->grants;
  std::atomic<std::uint32_t>& holding = tally_->holding[company_.process];
  ++holding;
  if (manner.oversleeps) {
    oversleep(held);
  } else {
    work(held);
  }
  --holding;
  give_back(held);
  return true;
}

void HistoryWorker::work(Held& held) {
  const Workload& workload = company_.stage.workload;
  const bool lasts = dice_.chance(workload.long_holds);
  const std::uint32_t steps = lasts ? 10 : 1 + dice_.below(3);
  const std::chrono::nanoseconds longest = lasts ? workload.lock.lease * 2 : workload.hold;
  for (std::uint32_t step = 0; step < steps && !over() && look(held); ++step) {
    if (dice_.chance(0.7)) write(held);
    if (dice_.chance(0.2)) reenter(held);
    company_.stage.time.sleep(dice_.between(0ns, longest) / steps);
  }
}

void HistoryWorker::oversleep(Held& held) {
  const std::chrono::nanoseconds lease = company_.stage.workload.lock.lease;
  ++tally_->oversleeps;
  company_.stage.time.sleep(dice_.between(lease, lease * 8 / 5));
  if (!over()) write(held);
}

void HistoryWorker::reenter(Held& held) {
  std::error_code why;
  const bool entered = held.grip.acquire({.owner = held.owner}, why);
  if (over()) return;
  if (!entered) {
    if (why != Errc::lost || look(held)) surprise("re-entry: " + why.message());
    return;
  }
  ++tally_->reentries;
  if (held.grip.token(held.owner) != held.hold.token) {
    surprise("the token changed on re-entry");
  }
  if (dice_.chance(0.5)) write(held);
  held.grip.release(why, held.owner);
  if (why && !over()) surprise("the inner release: " + why.message());
}

bool HistoryWorker::look(Held& held) {
  const std::int64_t before = company_.recorder.now();
  const std::chrono::nanoseconds valid = held.grip.valid_for(held.owner);
  if (over()) return false;
  if (valid == 0ns) {
    if (!held.knows_of_loss) {
      note_loss(held, "found at a look");
      company_.recorder.lost(held.hold);
    }
    held.knows_of_loss = true;
  } else if (held.knows_of_loss) {
    surprise("a lost hold is valid again");
  } else if (valid != forever && before + valid.count() > held.deadline + same_deadline) {
    held.deadline = before + valid.count();
    company_.recorder.renewed(held.hold, held.deadline);
  }
  return !held.knows_of_loss;
}

void HistoryWorker::write(Held& held) {
  // The resource knows one token a name: only who holds a name alone may write.
  if (held.hold.shape != Shape::exclusive) return;
  const RecordedCall call = company_.recorder.invoke_write(held.hold);
  const ResourceClient::Written written =
      resource_.write(held.hold.name, held.hold.token, dice_.number());
  company_.recorder.returned(call, written.accepted ? Outcome::ok : Outcome::fail);
  if (!written.accepted && look(held)) ++tally_->refused_while_held;
}

void HistoryWorker::give_back(Held& held) {
  if (over()) return;
  const bool held_it = look(held);
  const RecordedCall call = company_.recorder.invoke_release(held.hold);
  const std::int64_t before = company_.recorder.now();
  std::error_code why;
  const Released outcome = held.grip.release(why, held.owner);
  if (over()) return;
  const Workload& workload = company_.stage.workload;
  const std::chrono::nanoseconds time(company_.recorder.now() - before);
  const bool repeated = time >= core::command_timeout(workload.lock.lease) / 2;
  const bool doubted =
      outcome == Released::released && repeated && !workload.believes_repeated_releases;
  company_.recorder.returned(call, doubted ? Outcome::unknown : outcome_of(outcome));
  if (why) surprise("release: " + why.message());
  if (held_it && outcome == Released::was_lost) note_loss(held, "found at the release");
}

void HistoryWorker::note_loss(const Held& held, const char* how) {
  const std::int64_t now = company_.recorder.now();
  if (held.deadline != no_deadline && now >= held.deadline) return;
  ++tally_->lost_early;
  if (!company_.stage.workload.tells_of_losses) return;
  std::fprintf(stderr,
               "process %u owner %u: token %llu of op %llu was lost before its deadline, %s\n",
               company_.process, number_, static_cast<unsigned long long>(held.hold.token),
               static_cast<unsigned long long>(held.hold.op), how);
}

void HistoryWorker::refused(const Attempt& attempt, std::error_code why) {
  company_.recorder.returned(attempt, why == Errc::timeout ? Outcome::fail : Outcome::unknown);
  if (why == Errc::timeout) {
    ++tally_->timed_out;
  } else if (why == Errc::cancelled) {
    ++tally_->cancelled;
  } else if (why == Errc::unavailable || why == Errc::in_doubt) {
    ++tally_->unavailable;
  } else {
    surprise("acquire: " + why.message());
  }
}

void HistoryWorker::take_each_once_more() {
  for (std::uint32_t name = 0; name < company_.stage.workload.names; ++name) {
    const auto until = std::chrono::steady_clock::now() + patience_after_faults;
    bool taken = false;
    while (!taken && std::chrono::steady_clock::now() < until) {
      taken = cycle(name, {.options = {.wait = company_.stage.workload.longest_wait}});
    }
    if (!taken) {
      surprise("the name \"" + company_.stage.names[name] + "\" cannot be had after the faults");
      return;
    }
    ++tally_->healed;
  }
}

void HistoryWorker::surprise(const std::string& what) {
  if (over()) return;
  ++tally_->surprises;
  std::fprintf(stderr, "process %u owner %u: %s\n", company_.process, number_, what.c_str());
}

}  // namespace mortise::model
