// SPDX-License-Identifier: MIT
#include "model/keys_checker.hpp"

#include "model/holds.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <sstream>
#include <utility>

namespace mortise::model {

namespace {

constexpr std::int64_t not_yet = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t most_violations = 16;

struct RunOfKey {
  const KeyEvent* begun = nullptr;
  const KeyEvent* said = nullptr;
  const KeyEvent* told = nullptr;  // the earliest, to anybody else
  KeyWord ended = KeyWord::none;
  std::int64_t recorded = not_yet;  // as its runner learnt
  std::int64_t over = not_yet;      // as well, whatever it learnt

  [[nodiscard]] std::uint64_t token() const { return begun->token; }
  [[nodiscard]] std::int64_t known() const {
    return std::min(recorded, told != nullptr ? told->time : not_yet);
  }
  [[nodiscard]] bool succeeded() const {
    return known() != not_yet && said->word == KeyWord::succeeded;
  }
};

class KeyJudge {
 public:
  KeyJudge(KeyReport& report, std::uint32_t key, Repeat repeat)
      : report_(report), key_(key), repeat_(repeat) {}

  void add(const KeyEvent& event) {
    origin_ = std::min(origin_, event.time);
    switch (event.step) {
      case KeyStep::asked: calls_[event.op] = &event; return;
      case KeyStep::begun: begins(event); return;
      case KeyStep::told: tellings_.push_back(&event); return;
      case KeyStep::concluding:
        if (RunOfKey* const run = run_of(event)) run->said = &event;
        return;
      case KeyStep::concluded: concluded(event); return;
    }
    found(KeyFault::malformed, event, "there is no such event");
  }

  void judge() {
    ++report_.keys;
    report_.calls += calls_.size();
    report_.runs += runs_.size();
    for (const KeyEvent* telling : tellings_) find_what_was_said(*telling);
    for (const auto& [token, run] : runs_) count(run);
    judge_runs();
    for (const KeyEvent* telling : tellings_) judge_telling(*telling);
  }

 private:
  void begins(const KeyEvent& event) {
    const auto [place, fresh] = runs_.try_emplace(event.token);
    if (!fresh) found(KeyFault::malformed, event, "two runs have its token");
    place->second.begun = &event;
    tokens_[event.op] = event.token;
    if (other_request(event)) found(KeyFault::wrong_request, event, "it is to run the key");
  }

  RunOfKey* run_of(const KeyEvent& event) {
    const auto token = tokens_.find(event.op);
    if (token != tokens_.end()) return &runs_[token->second];
    found(KeyFault::malformed, event, "it never began");
    return nullptr;
  }

  void concluded(const KeyEvent& event) {
    RunOfKey* const run = run_of(event);
    if (run == nullptr) return;
    if (run->said == nullptr) return found(KeyFault::malformed, event, "it had said nothing");
    run->ended = event.word;
    run->over = event.time;
    if (event.word == KeyWord::recorded) run->recorded = event.time;
  }

  static bool tells_outcome(const KeyEvent& event) {
    return event.word == KeyWord::succeeded || event.word == KeyWord::failed;
  }

  bool other_request(const KeyEvent& event) const {
    const auto call = calls_.find(event.op);
    return call != calls_.end() && call->second->manner.other_request;
  }

  void find_what_was_said(const KeyEvent& telling) {
    if (!tells_outcome(telling)) return;
    ++report_.told;
    const auto found_run = runs_.find(telling.token);
    if (found_run == runs_.end()) {
      return found(KeyFault::never_said, telling, "no such run has begun");
    }
    RunOfKey& run = found_run->second;
    if (run.said == nullptr || run.said->time > telling.time) {
      return found(KeyFault::never_said, telling, "its run had said nothing yet");
    }
    if (run.said->word != telling.word || run.said->digest != telling.digest ||
        run.said->bytes != telling.bytes || run.begun->number != telling.number) {
      return found(KeyFault::never_said, telling,
                   "its run, number " + std::to_string(run.begun->number) +
                       ", said something else, of " + std::to_string(run.said->bytes) + " bytes");
    }
    if (run.told == nullptr || telling.time < run.told->time) run.told = &telling;
  }

  void count(const RunOfKey& run) {
    if (run.known() != not_yet) ++(run.succeeded() ? report_.successes : report_.failures);
    if (run.ended == KeyWord::lost) ++report_.losses;
    const bool doubted = run.said != nullptr && run.ended != KeyWord::lost;
    if (doubted && run.known() == not_yet) ++report_.in_doubt;
  }

  // Whether the key is at its end with this run.
  bool is_last(const RunOfKey& run) const {
    if (run.known() == not_yet || repeat_ == Repeat::always) return false;
    return repeat_ == Repeat::never || run.succeeded();
  }

  void judge_runs() {
    const RunOfKey* before = nullptr;
    const RunOfKey* last = nullptr;
    for (const auto& [token, run] : runs_) {
      if (before != nullptr && run.begun->number <= before->begun->number) {
        found(KeyFault::number_backwards, *run.begun, "after " + text_of(*before->begun));
      }
      if (last != nullptr) {
        found(KeyFault::second_outcome, *run.begun, "although the key had ended: " + end_of(*last));
      }
      if (last == nullptr && is_last(run)) last = &run;
      before = &run;
    }
    last_ = last;
    const RunOfKey* next = nullptr;  // of those with larger tokens, the one that began first
    for (auto each = runs_.rbegin(); each != runs_.rend(); ++each) {
      const RunOfKey& run = each->second;
      if (run.known() != not_yet && run.ended == KeyWord::lost) {
        found(KeyFault::recorded_by_loser, *run.told, "its runner was told that it had lost");
      } else if (run.known() != not_yet && next != nullptr && run.said->time > next->begun->time) {
        found(KeyFault::recorded_by_loser, *run.said,
              "it is recorded, although before that " + text_of(*next->begun));
      }
      if (next == nullptr || run.begun->time < next->begun->time) next = &run;
    }
  }

  void judge_telling(const KeyEvent& telling) {
    const auto found_call = calls_.find(telling.op);
    if (found_call == calls_.end()) {
      return found(KeyFault::malformed, telling, "it never asked");
    }
    const KeyEvent& call = *found_call->second;
    if (telling.word == KeyWord::mismatch) {
      ++report_.refused;
      if (!call.manner.other_request) {
        found(KeyFault::wrong_request, telling, "it asked for the same as all");
      }
      return;
    }
    if (call.manner.other_request && telling.word != KeyWord::pending) {
      found(KeyFault::wrong_request, telling, "it asked for something else");
    }
    if (telling.word == KeyWord::absent) {
      for (const auto& [token, run] : runs_) {
        if (run.begun->time < call.time) {
          return found(KeyFault::forgotten, telling, "before it asked, " + text_of(*run.begun));
        }
      }
    }
    if (tells_outcome(telling)) return judge_age(telling, call);
    // Who waits in turn with others of its process may not have asked at all before its time was
    // up, or it was stopped.
    const bool excused =
        telling.word == KeyWord::pending && (call.manner.waits || runs_here(telling, call));
    if (!excused && last_ != nullptr && last_->known() < call.time) {
      found(KeyFault::forgotten, telling, "before it asked, " + end_of(*last_));
    }
  }

  // Whether its own process runs the key meanwhile, for all that it knows: of a hold that was taken
  // away it learns by the next renewal only.
  bool runs_here(const KeyEvent& telling, const KeyEvent& call) const {
    return std::any_of(runs_.begin(), runs_.end(), [&](const auto& each) {
      const RunOfKey& run = each.second;
      return run.begun->process == telling.process && run.begun->time < telling.time &&
             run.over > call.time;
    });
  }

  // What was known before it asked is not told any more once there is something newer.
  void judge_age(const KeyEvent& telling, const KeyEvent& call) {
    for (const auto& [token, run] : runs_) {
      if (token > telling.token && run.known() < call.time) {
        return found(KeyFault::forgotten, telling, "before it asked, " + end_of(run));
      }
    }
  }

  std::string end_of(const RunOfKey& run) const {
    return text_of(*run.said) + ", known since " + at(run.known(), origin_);
  }

  static const char* words_of(KeyStep step) {
    switch (step) {
      case KeyStep::asked: return "asked";
      case KeyStep::begun: return "was to run it";
      case KeyStep::told: return "was told";
      case KeyStep::concluding: return "said";
      case KeyStep::concluded: break;
    }
    return "knew of its conclusion";
  }

  static const char* words_of(KeyWord word) {
    static constexpr std::array words{"",          " absent",   " pending", " succeeded", " failed",
                                      " mismatch", " recorded", " lost",    " unknown"};
    return words.at(static_cast<std::size_t>(word));
  }

  // "process 2 owner 1 was told succeeded, 12 bytes, token 2048, number 2, at +1.0 s (op 17)"
  std::string text_of(const KeyEvent& event) const {
    std::ostringstream text;
    text << "process " << event.process << " owner " << event.owner << ' ' << words_of(event.step)
         << words_of(event.word);
    if (event.bytes != 0) text << ", " << event.bytes << " bytes";
    const auto token = tokens_.find(event.op);
    if (event.token != 0) {
      text << ", token " << event.token << ", number " << event.number;
    } else if (token != tokens_.end()) {
      text << " of token " << token->second;
    }
    text << ", at " << at(event.time, origin_) << " (op " << event.op;
    const auto call = calls_.find(event.op);
    if (call != calls_.end()) {
      const KeyManner& manner = call->second->manner;
      text << ", asked at " << at(call->second->time, origin_)
           << (manner.looks   ? ", a look"
               : manner.waits ? ", waits"
                              : ", does not wait")
           << (manner.other_request ? ", another request" : "");
    }
    text << ")";
    return text.str();
  }

  void found(KeyFault fault, const KeyEvent& event, const std::string& why) {
    ++report_.faults;
    if (report_.violations.size() >= most_violations) return;
    report_.violations.push_back({fault, key_,
                                  "key " + std::to_string(key_) + ": " + to_string(fault) + ": " +
                                      text_of(event) + "; " + why});
  }

  KeyReport& report_;
  const std::uint32_t key_;
  const Repeat repeat_;
  std::int64_t origin_ = not_yet;
  std::map<std::uint64_t, const KeyEvent*> calls_;  // by op
  std::map<std::uint64_t, std::uint64_t> tokens_;   // of runs, by op
  std::map<std::uint64_t, RunOfKey> runs_;          // by token
  std::vector<const KeyEvent*> tellings_;
  const RunOfKey* last_ = nullptr;
};

}  // namespace

const char* to_string(KeyFault fault) noexcept {
  switch (fault) {
    case KeyFault::never_said: return "told what was never said";
    case KeyFault::second_outcome: return "a second outcome";
    case KeyFault::recorded_by_loser: return "recorded by a loser";
    case KeyFault::forgotten: return "forgotten";
    case KeyFault::number_backwards: return "number backwards";
    case KeyFault::wrong_request: return "wrong request";
    case KeyFault::malformed: break;
  }
  return "not a history";
}

bool KeyReport::has(KeyFault fault) const noexcept {
  return std::any_of(violations.begin(), violations.end(),
                     [fault](const KeyViolation& each) { return each.fault == fault; });
}

std::string KeyReport::text() const {
  std::ostringstream text;
  text << (ok() ? "good" : "BAD") << ": " << keys << " keys, " << calls << " calls, " << runs
       << " runs: " << successes << " succeeded, " << failures << " failed, " << losses << " lost, "
       << in_doubt << " in doubt; told " << told << " times, refused " << refused << " times; "
       << faults << " faults";
  for (const KeyViolation& violation : violations) text << "\n  " << violation.sentence;
  return text.str();
}

KeyReport check_keys(std::span<const KeyEvent> events,
                     const std::function<Repeat(std::uint32_t key)>& repeat_of) {
  // In the order of their slots within a key: what a call did comes behind its begin there.
  std::map<std::uint32_t, std::vector<const KeyEvent*>> by_key;
  for (const KeyEvent& event : events) by_key[event.key].push_back(&event);
  KeyReport report;
  for (const auto& [key, of_key] : by_key) {
    KeyJudge judge(report, key, repeat_of(key));
    for (const KeyEvent* event : of_key) judge.add(*event);
    judge.judge();
  }
  return report;
}

KeyReport check_keys(const KeyBook& book,
                     const std::function<Repeat(std::uint32_t key)>& repeat_of) {
  const std::vector<KeyEvent> events = book.read();
  KeyReport report = check_keys(events, repeat_of);
  if (const std::uint64_t refused = book.refused(); refused != 0) {
    report.faults += refused;
    report.violations.push_back(
        {KeyFault::malformed, 0,
         "the book was full: it proves nothing without " + std::to_string(refused) + " events"});
  }
  return report;
}

}  // namespace mortise::model
