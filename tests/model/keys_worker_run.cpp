// SPDX-License-Identifier: MIT
// A run, from its begin to its end. The clock is read before valid_for(), as by the HistoryWorker,
// and what is about to be said is in the book before it is said.
#include "model/keys_worker.hpp"

#include <algorithm>
#include <cstdio>
#include <random>

namespace mortise::model {

namespace {

using namespace std::chrono_literals;

// Bytes that no other run has, but for the shortest ones.
std::string bytes_of(std::uint64_t op, Dice& dice) {
  const std::uint32_t kind = dice.below(20);
  const std::size_t size = kind == 0   ? 0
                           : kind == 1 ? longest_outcome
                           : kind < 4  ? dice.below(4'096)
                                       : 8 + dice.below(100);
  std::string bytes(size, '\0');
  std::mt19937_64 random(op);
  std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<char>(random() >> 56U); });
  return bytes;
}

}  // namespace

KeyWorker::Held KeyWorker::begun(const Asked& asked, Run& run) {
  Held held{.run = run, .hold = {}};
  const std::int64_t before = now();
  const std::chrono::nanoseconds valid = run.valid_for();
  // As of a HistoryWorker: whoever was stopped right behind the grant never believed in it.
  if (valid != forever) held.deadline = valid == 0ns ? asked.attempt.time : before + valid.count();
  held.hold = company_.recorder.granted(asked.attempt, run.token().value(), held.deadline);
  book_.begun(asked.call, run.token().value(), run.number(), now());
  ++tally_->grants;
  ++tally_->holding[company_.process];
  return held;
}

void KeyWorker::work(Held& held, const Manner& manner) {
  const Workload& workload = company_.stage.workload;
  const std::chrono::nanoseconds lease = workload.lock.lease;
  if (manner.oversleeps) {
    ++tally_->oversleeps;
    company_.stage.time.sleep(dice_.between(lease / 2, lease * 8 / 5));
    return;
  }
  const std::uint32_t steps = manner.lasts ? 10 : 1 + dice_.below(3);
  const std::chrono::nanoseconds longest = manner.lasts ? lease * 2 : workload.hold;
  for (std::uint32_t step = 0; step < steps && !over() && look(held); ++step) {
    company_.stage.time.sleep(dice_.between(0ns, longest) / steps);
  }
}

bool KeyWorker::look(Held& held) {
  const std::int64_t before = now();
  const std::chrono::nanoseconds valid = held.run.valid_for();
  if (over()) return false;
  if (valid == 0ns) {
    if (!held.knows_of_loss) {
      note_loss(held);
      company_.recorder.lost(held.hold);
    }
    held.knows_of_loss = true;
  } else if (held.knows_of_loss) {
    surprise("a lost run is valid again");
  } else if (valid != forever && before + valid.count() > held.deadline + same_deadline) {
    held.deadline = before + valid.count();
    company_.recorder.renewed(held.hold, held.deadline);
  }
  return !held.knows_of_loss;
}

void KeyWorker::note_loss(const Held& held) {
  const std::int64_t time = now();
  if (held.deadline != no_deadline && time >= held.deadline) return;
  ++tally_->lost_early;
  if (!company_.stage.workload.tells_of_losses) return;
  std::fprintf(stderr, "process %u owner %u: the run of token %llu was lost before its deadline\n",
               company_.process, number_, static_cast<unsigned long long>(held.hold.token));
}

std::string KeyWorker::concluding(const Asked& asked, KeyState state) {
  std::string bytes = bytes_of(asked.call.op, dice_);
  book_.concluding(asked.call, state, bytes, now());
  return bytes;
}

bool KeyWorker::concluded(const Asked& asked, const Held& held, const RecordedCall& call,
                          const mortise::Outcome& outcome, std::error_code why,
                          const std::string& bytes) {
  if (over()) return false;
  if (why) {
    company_.recorder.returned(call, Outcome::unknown);
    book_.concluded(asked.call, KeyWord::unknown, now());
    if (why != Errc::in_doubt) surprise("a conclusion says " + why.message());
    ++tally_->unavailable;
    return is(false, "its conclusion: " + why.message());
  }
  company_.recorder.returned(call, outcome.lost() ? Outcome::was_lost : Outcome::ok);
  book_.concluded(asked.call, outcome.lost() ? KeyWord::lost : KeyWord::recorded, now());
  if (outcome.lost()) {
    if (!held.knows_of_loss) note_loss(held);
    return is(false, "its run was lost");
  }
  const std::string& recorded =
      outcome.state() == KeyState::succeeded ? outcome.result() : outcome.reason();
  if (recorded != bytes) surprise("a runner is told another outcome than it said");
  const bool ended =
      outcome.state() == KeyState::succeeded || repeat_of_key(asked.key) == Repeat::never;
  if (ended) book_.settled(asked.key);
  return ended;
}

}  // namespace mortise::model
