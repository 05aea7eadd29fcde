// SPDX-License-Identifier: MIT
// The comparison of holds. The running maxima remember which hold reached farthest, so that a
// violation names those that are a contradiction by themselves.
#include "model/checker.hpp"

#include "model/counted.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <sstream>
#include <tuple>
#include <utility>

namespace mortise::model {

namespace {

constexpr auto largest_token = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

// What is sorted: a fraction of the size of the holds themselves.
struct Key {
  std::uint64_t token;
  std::uint32_t name;
  std::uint32_t index;
  Shape shape;

  // Permits are apart; of equal tokens the exclusive one comes first.
  bool operator<(const Key& other) const noexcept {
    const bool permit = shape == Shape::permit;
    const bool other_permit = other.shape == Shape::permit;
    return std::tie(permit, name, token, shape, index) <
           std::tie(other_permit, other.name, other.token, other.shape, other.index);
  }
};

std::vector<Key> by_token(const std::vector<HoldRecord>& records) {
  std::vector<Key> keys;
  keys.reserve(records.size());
  for (std::uint32_t index = 0; index < records.size(); ++index) {
    const HoldRecord& record = records[index];
    keys.push_back({record.token, record.name, index, record.shape});
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

// Before when no hold can have been granted that comes after those which were met so far.
struct Bound {
  std::int64_t at = std::numeric_limits<std::int64_t>::min();
  const HoldRecord* hold = nullptr;  // whose reach that is
  const HoldRecord* via = nullptr;   // the exclusive hold that came after it, if it did

  void raise(const Bound& other) {
    if (hold == nullptr || other.at > at) *this = other;
  }
};

class Judge {
 public:
  Judge(Gathered gathered, const CheckOptions& options)
      : gathered_(std::move(gathered)), options_(options) {}

  Report run() {
    report_.faults = gathered_.malformed;
    for (std::string& sentence : gathered_.sentences) {
      report_.violations.push_back(
          {.fault = Fault::malformed, .first = {}, .second = {}, .sentence = std::move(sentence)});
    }
    judge_holds();
    judge_writes();
    report_.counts = gathered_.counts;
    return std::move(report_);
  }

 private:
  void judge_holds() {
    const std::vector<Key> keys = by_token(gathered_.holds);
    for (std::size_t from = 0, to = 0; from < keys.size(); from = to) {
      const auto of_another = [&](const Key& key) {
        return key.name != keys[from].name ||
               (key.shape == Shape::permit) != (keys[from].shape == Shape::permit);
      };
      const auto begin = keys.begin() + static_cast<std::ptrdiff_t>(from);
      to = static_cast<std::size_t>(std::find_if(begin, keys.end(), of_another) - keys.begin());
      ++gathered_.counts.names;
      const std::span<const Key> of_name(&keys[from], to - from);
      if (keys[from].shape == Shape::permit) {
        judge_permits(of_name);
      } else {
        judge_lock(of_name);
      }
    }
  }

  bool has_valid_token(const HoldRecord& hold) {
    if (hold.token != 0 && hold.token <= largest_token) return true;
    found(Fault::token_invalid, hold, hold);
    return false;
  }

  void judge_lock(std::span<const Key> keys) {
    const HoldRecord* exclusive = nullptr;  // the last one
    Bound by_all;
    Bound by_exclusive;
    for (const Key& key : keys) {
      const HoldRecord& hold = gathered_.holds[key.index];
      const bool shared = hold.shape == Shape::shared;
      const Bound own = reached(hold, shared ? by_exclusive : by_all, exclusive);
      by_all.raise(own);
      if (!shared) {
        by_exclusive.raise(own);
        exclusive = &hold;
      }
    }
  }

  // Judges a hold by what comes before it, and tells what that means for those after it.
  Bound reached(const HoldRecord& hold, const Bound& before, const HoldRecord* exclusive) {
    const Bound own{.at = hold.reach(), .hold = &hold};
    const bool shared = hold.shape == Shape::shared;
    if (!has_valid_token(hold)) return own;
    if (!shared && exclusive != nullptr && exclusive->token == hold.token) {
      found(Fault::token_repeated, *exclusive, hold);
    } else if (before.hold != nullptr && before.at > hold.returned) {
      contradiction(before, hold);
    } else if (!shared && before.hold != nullptr && before.at > own.at) {
      return {.at = before.at, .hold = before.hold, .via = &hold};
    }
    return own;
  }

  void judge_permits(std::span<const Key> keys) {
    std::vector<const HoldRecord*> holds;
    for (const Key& key : keys) {
      const HoldRecord& hold = gathered_.holds[key.index];
      if (!has_valid_token(hold)) continue;
      if (!holds.empty() && holds.back()->token == hold.token) {
        found(Fault::token_repeated, *holds.back(), hold);
      } else {
        holds.push_back(&hold);
      }
    }
    const auto finds = [this](Fault fault) {
      return [this, fault](const HoldRecord& first, const HoldRecord& second) {
        found(fault, first, second);
      };
    };
    count_permits(holds, options_.permits,
                  {.backwards = finds(Fault::token_backwards), .too_many = finds(Fault::too_many)});
  }

  // `before.hold` comes before `high` in the order of tokens, and cannot have ended before that was
  // granted. Without regard to tokens, can the two have followed each other the other way round?
  void contradiction(const Bound& before, const HoldRecord& high) {
    const HoldRecord& low = *before.hold;
    if (low.shape == Shape::shared && high.shape == Shape::shared) {
      found(Fault::token_backwards, low, high, before.via);
    } else if (high.reach() <= low.returned) {
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

  void found(Fault fault, const HoldRecord& first, const HoldRecord& second,
             const HoldRecord* between = nullptr) {
    ++report_.faults;
    if (report_.violations.size() >= options_.describe) return;
    std::string words = sentence(fault, first, second);
    if (between != nullptr) words += "; and by tokens there was one between: " + whole(*between);
    report_.violations.push_back({.fault = fault,
                                  .first = first,
                                  .second = second,
                                  .between = between != nullptr ? between->op : 0,
                                  .sentence = std::move(words)});
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
      case Fault::too_many:
        return where + "more than " + std::to_string(options_.permits) +
               " permits at once: " + whole(first) + ", others as many as there are; and " +
               granted(second);
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
         << (hold.cause == EndCause::written ? " with token "
             : hold.shape == Shape::shared   ? " got, shared, token "
             : hold.shape == Shape::permit   ? " got a permit with token "
                                             : " got token ")
         << hold.token << " between " << time(hold.invoked) << " and " << time(hold.returned)
         << " (op " << hold.op << ")";
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
    case Fault::too_many: return "too many permits";
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
        {.fault = Fault::malformed,
         .first = {},
         .second = {},
         .sentence = "history file " + history.path() + " was full: " + std::to_string(refused) +
                     " events are missing, so it proves nothing"});
  }
  return report;
}

}  // namespace mortise::model
