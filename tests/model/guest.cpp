// SPDX-License-Identifier: MIT
#include "model/guest.hpp"

#include <unistd.h>

#include <string>
#include <utility>

namespace mortise::model {
namespace {

using namespace std::chrono_literals;

// Longer than any of its waits, also behind holders that were killed.
constexpr std::chrono::seconds patience{20};
constexpr std::chrono::milliseconds longest_rest{2};
constexpr std::chrono::milliseconds longest_hold{4};
// Some last, and live by renewals.
constexpr double long_holds = 0.02;

// Indices that are free for whoever comes in its place.
constexpr std::uint32_t room = 512;

}  // namespace

Guest::Guest(HistoryFile& history, std::uint32_t process, std::uint32_t name, Start start,
             std::chrono::nanoseconds lease, Dice& dice)
    : history_(history),
      process_(process * room),
      name_(name),
      start_(std::move(start)),
      lease_(lease),
      dice_(dice),
      stranger_(start_()) {
  recorder_.emplace(history_, process_);
}

void Guest::turn_to(Act act, std::chrono::nanoseconds longest) {
  act_ = act;
  next_ = monotonic_ns() + longest.count();
}

void Guest::step(bool goes_on) {
  if (stopped_at_) return;
  const bool due = monotonic_ns() >= next_;
  if (act_ == Act::rests) {
    if (due && goes_on) take();
    return;
  }
  if (act_ == Act::holds) {
    if (due) free();
    return;
  }
  const std::string answer = stranger_.answer(0ms);
  if (answer.empty()) {
    if (due) replace();
  } else if (act_ == Act::takes) {
    taken(answer);
  } else {
    freed(answer);
  }
}

void Guest::take() {
  doubted_ = false;
  attempt_ = recorder_->invoke_acquire(0, name_);
  stranger_.send("take");
  turn_to(Act::takes, patience);
}

void Guest::taken(const std::string& answer) {
  if (answer != "taken") {
    recorder_->returned(attempt_, Outcome::unknown);
    replace();
    return;
  }
  // Where it may have stood still since it asked, it may have had the lock and lost it meanwhile:
  // a hold that nobody can count on for an instant.
  hold_ = recorder_->granted(attempt_, 0, doubted_ ? attempt_.time : no_deadline);
  ++tally_.grants;
  turn_to(Act::holds,
          dice_.between(0ns, dice_.chance(long_holds) ? lease_ * 3 / 2
                                                      : std::chrono::nanoseconds(longest_hold)));
}

void Guest::free() {
  release_ = recorder_->invoke_release(hold_);
  stranger_.send("free");
  turn_to(Act::frees, patience);
}

void Guest::freed(const std::string& answer) {
  const bool lost = answer == "lost";
  const Outcome outcome = lost                   ? Outcome::was_lost
                          : answer == "released" ? Outcome::ok
                                                 : Outcome::unknown;
  recorder_->returned(release_, outcome);
  if (lost) ++tally_.lost;
  if (outcome == Outcome::unknown) {
    replace();
  } else {
    turn_to(Act::rests, dice_.between(0ns, longest_rest));
  }
}

void Guest::doubt(std::int64_t since) {
  if (act_ == Act::holds && !doubted_) {
    // The last sign of life was at most a third of the lease before, and a little late.
    recorder_->renewed(hold_, since + lease_.count() / 2);
  }
  doubted_ = true;
}

void Guest::stop() {
  const std::int64_t before = monotonic_ns();
  if (stranger_.process().stop()) stopped_at_ = before;
}

void Guest::resume() {
  if (!stopped_at_) return;
  if (monotonic_ns() - *stopped_at_ > unnoticed()) doubt(*stopped_at_);
  stranger_.process().resume();
  stopped_at_.reset();
}

void Guest::kill() {
  resume();
  const Exit exit = stranger_.process().kill();
  // The recorder wrote as this process.
  recorder_->died(process_, ::getpid(), exit.sent, exit.reaped);
  stranger_ = start_();
  recorder_.emplace(history_, ++process_);
  turn_to(Act::rests, 0ns);
}

void Guest::replace() {
  ++tally_.replaced;
  kill();
}

}  // namespace mortise::model
