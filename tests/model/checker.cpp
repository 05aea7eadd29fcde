// SPDX-License-Identifier: MIT
// The comparison of holds. The running maximum remembers which hold reached farthest, so that a
// violation names a pair that is a contradiction by itself.
#include "model/checker.hpp"

#include <algorithm>
#include <limits>
#include <sstream>
#include <utility>

namespace mortise::model {

namespace {

constexpr auto largest_token = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

// What is sorted: a fraction of the size of the holds themselves.
struct Key {
  std::uint64_t token;
  std::uint32_t name;
  std::uint32_t index;

  bool operator<(const Key& other) const noexcept {
    if (name != other.name) {
      return name < other.name;
    }
    return token != other.token ? token < other.token : index < other.index;
  }
};

std::vector<Key> by_token(const std::vector<HoldRecord>& records) {
  std::vector<Key> keys;
  keys.reserve(records.size());
  for (std::uint32_t index = 0; index < records.size(); ++index) {
    keys.push_back({records[index].token, records[index].name, index});
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

class Judge {
 public:
  Judge(Gathered gathered, const CheckOptions& options)
      : gathered_(std::move(gathered)), options_(options) {}

  Report run() {
    report_.faults = gathered_.malformed;
    for (std::string& sentence : gathered_.sentences) {
      report_.violations.push_back({Fault::malformed, {}, {}, std::move(sentence)});
    }
    judge_holds();
    judge_writes();
    report_.counts = gathered_.counts;
    return std::move(report_);
  }

 private:
  void judge_holds() {
    const HoldRecord* before = nullptr;    // the one with the next smaller token
    const HoldRecord* farthest = nullptr;  // of all with smaller tokens, the one that reaches most
    for (const Key& key : by_token(gathered_.holds)) {
      const HoldRecord& hold = gathered_.holds[key.index];
      if (before == nullptr || before->name != hold.name) {
        before = nullptr;
        farthest = nullptr;
        ++gathered_.counts.names;
      }
      if (hold.token == 0 || hold.token > largest_token) {
        found(Fault::token_invalid, hold, hold);
      } else if (before != nullptr && before->token == hold.token) {
        found(Fault::token_repeated, *before, hold);
      } else if (farthest != nullptr && farthest->reach() > hold.returned) {
        contradiction(*farthest, hold);
      }
      if (farthest == nullptr || hold.reach() > farthest->reach()) {
        farthest = &hold;
      }
      before = &hold;
    }
  }

  // `low` has the smaller token, and cannot have ended before `high` was granted. Without regard to
  // tokens, can the two have followed each other the other way round?
  void contradiction(const HoldRecord& low, const HoldRecord& high) {
    if (high.reach() <= low.returned) {
      found(Fault::token_backwards, high, low);
    } else if (low.invoked <= high.returned) {
      found(Fault::overlap, low, high);
    } else {
      found(Fault::overlap, high, low);
    }
  }

  void judge_writes() {
    const HoldRecord* farthest = nullptr;  // of the smaller tokens, the write invoked last
    const HoldRecord* same = nullptr;      // of this token, the write invoked last
    for (const Key& key : by_token(gathered_.writes)) {
      const HoldRecord& write = gathered_.writes[key.index];
      if (same != nullptr && same->name != write.name) {
        same = nullptr;
        farthest = nullptr;
      } else if (same != nullptr && same->token != write.token) {
        farthest = later(farthest, same);
        same = nullptr;
      }
      if (farthest != nullptr && farthest->invoked > write.returned) {
        found(Fault::stale_write, write, *farthest);
      }
      same = later(same, &write);
    }
  }

  static const HoldRecord* later(const HoldRecord* one, const HoldRecord* other) {
    return one == nullptr || other->invoked > one->invoked ? other : one;
  }

  void found(Fault fault, const HoldRecord& first, const HoldRecord& second) {
    ++report_.faults;
    if (report_.violations.size() < options_.describe) {
      report_.violations.push_back({fault, first, second, sentence(fault, first, second)});
    }
  }

  std::string sentence(Fault fault, const HoldRecord& first, const HoldRecord& second) const {
    const std::string where = name(first.name) + ": ";
    switch (fault) {
      case Fault::overlap:
        return where + "two holds overlap: " + whole(first) + "; but " + whole(second);
      case Fault::token_backwards:
        return where + "tokens went backwards: " + whole(first) + "; later " + whole(second);
      case Fault::token_repeated:
        return where + "two holds carry one token: " + granted(first) + "; and " + granted(second);
      case Fault::token_invalid: return where + "no valid token: " + granted(first);
      case Fault::stale_write:
        return where + "the resource took an old token: it accepted the write of " +
               granted(first) + "; later that of " + granted(second);
      case Fault::malformed: break;
    }
    return where + to_string(fault);
  }

  std::string name(std::uint32_t number) const {
    return number < options_.names.size() ? "\"" + options_.names[number] + "\""
                                          : "name " + std::to_string(number);
  }

  std::string time(std::int64_t time) const { return at(time, gathered_.origin); }

  // "process 2 (pid 431) owner 1 got token 2049 between +1.0 s and +1.1 s (op 17)"
  std::string granted(const HoldRecord& hold) const {
    std::ostringstream text;
    text << "process " << hold.process << " (pid " << hold.pid << ") owner " << hold.owner
         << (hold.cause == EndCause::written ? " with token " : " got token ") << hold.token
         << " between " << time(hold.invoked) << " and " << time(hold.returned) << " (op "
         << hold.op << ")";
    return text.str();
  }

  std::string whole(const HoldRecord& hold) const { return granted(hold) + " and " + kept(hold); }

  std::string kept(const HoldRecord& hold) const {
    switch (hold.cause) {
      case EndCause::open: return "never gave it up";
      case EndCause::released: return "held it until its release was sent at " + time(hold.end);
      case EndCause::deadline: return "held it until its own deadline at " + time(hold.end);
      case EndCause::loss: return "held it until it was told of its loss at " + time(hold.end);
      case EndCause::death: return "held it until its process was killed at " + time(hold.end);
      case EndCause::excused: return "lost it at an unknown time";
      case EndCause::written: break;
    }
    return "";
  }

  Gathered gathered_;
  const CheckOptions& options_;
  Report report_;
};

}  // namespace

const char* to_string(Fault fault) noexcept {
  switch (fault) {
    case Fault::overlap: return "overlap";
    case Fault::token_backwards: return "token backwards";
    case Fault::token_repeated: return "token repeated";
    case Fault::token_invalid: return "token invalid";
    case Fault::stale_write: return "stale write";
    case Fault::malformed: return "malformed";
  }
  return "unknown fault";
}

bool Report::has(Fault fault) const noexcept {
  return std::any_of(violations.begin(), violations.end(),
                     [fault](const Violation& violation) { return violation.fault == fault; });
}

std::string Report::text() const {
  std::ostringstream text;
  text << (ok() ? "good" : "BAD") << ": " << counts.granted << " holds of " << counts.names
       << " names by " << counts.processes << " processes; " << counts.attempts << " attempts ("
       << counts.failed << " failed, " << counts.unknown << " unknown), " << counts.releases
       << " releases, " << counts.renewals << " renewals, " << counts.losses << " losses, "
       << counts.deaths << " deaths, " << counts.writes << " writes (" << counts.refused_writes
       << " refused); " << faults << " faults";
  for (const Violation& violation : violations) {
    text << "\n  " << violation.sentence;
  }
  if (faults > violations.size()) {
    text << "\n  ... and " << faults - violations.size() << " more";
  }
  return text.str();
}

Report check(std::span<const Event> events, const CheckOptions& options) {
  return Judge(gather(events, options.loss_excuses), options).run();
}

Report check(const HistoryFile& history, const CheckOptions& options) {
  Report report = check(history.read(), options);
  if (const std::uint64_t refused = history.refused(); refused != 0) {
    report.faults += refused;
    report.violations.insert(
        report.violations.begin(),
        {Fault::malformed,
         {},
         {},
         "history file " + history.path() + " was full: " + std::to_string(refused) +
             " events are missing, so it proves nothing"});
  }
  return report;
}

}  // namespace mortise::model
