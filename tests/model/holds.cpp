// SPDX-License-Identifier: MIT
// Several passes over the events, since their order in the file is only about that of time. Ops are
// slot numbers, therefore dense, therefore plain vectors are the maps.
#include "model/holds.hpp"

#include <algorithm>
#include <cstdio>

namespace mortise::model {

namespace {

constexpr std::uint64_t most_ops = std::uint64_t{1} << 26;
constexpr std::uint32_t most_processes = 1U << 16;
constexpr std::size_t most_sentences = 16;

// What is known of the end of a hold while events are attached to it.
struct Tail {
  std::int64_t deadline = 0;
  std::int64_t deadline_set = std::numeric_limits<std::int64_t>::min();
  std::int64_t released = never;
  std::int64_t lost = never;
  bool in_doubt = false;  // a release found it gone, or does not know
};

struct ClientProcess {
  bool seen = false;
  bool dead = false;
  std::int32_t pid = 0;
  std::int64_t last = std::numeric_limits<std::int64_t>::min();  // its last sign of life
  std::int64_t sent = 0;
  std::int64_t reaped = 0;
};

class Gatherer {
 public:
  Gatherer(std::span<const Event> events, bool loss_excuses)
      : events_(events), loss_excuses_(loss_excuses) {}

  Gathered run() {
    measure();
    for (std::size_t i = 0; i < events_.size(); ++i) {
      index(i);
    }
    for (const Event& event : events_) {
      if (event.phase == Phase::returned) {
        pair(event);
      }
    }
    for (const Event& event : events_) {
      attach(event);
    }
    finish();
    return std::move(out_);
  }

 private:
  void complain(const Event& event, const char* why) {
    if (out_.malformed++ < most_sentences) {
      out_.sentences.push_back(std::string("not a history: ") + to_string(event.operation) + " (" +
                               to_string(event.phase) + ", op " + std::to_string(event.op) +
                               ") of process " + std::to_string(event.process) + " at " +
                               at(event.time, out_.origin) + ": " + why);
    }
  }

  void measure() {
    out_.counts.events = events_.size();
    std::uint64_t last_op = 0;
    out_.origin = events_.empty() ? 0 : events_.front().time;
    for (const Event& event : events_) {
      out_.origin = std::min(out_.origin, event.time);
      last_op = std::max(last_op, event.op <= most_ops ? event.op : 0);
    }
    invoke_at_.resize(last_op + 1);
    outcome_.resize(last_op + 1);
    hold_at_.resize(last_op + 1);
  }

  void index(std::size_t i) {
    const Event& event = events_[i];
    if (!well_shaped(event) || !note_process(event)) {
      return;
    }
    if (event.phase != Phase::invoked) {
      return;
    }
    if (invoke_at_[event.op] != 0) {
      complain(event, "its op was invoked before");
      return;
    }
    invoke_at_[event.op] = static_cast<std::uint32_t>(i + 1);
    if (event.operation == Operation::acquire) {
      ++out_.counts.attempts;
    }
  }

  bool well_shaped(const Event& event) {
    if (event.op == 0 || event.op > most_ops) {
      complain(event, "its op is out of range");
      return false;
    }
    if (event.shape > Shape::permit) {
      complain(event, "no such shape");
      return false;
    }
    const bool pairs = event.operation == Operation::acquire ||
                       event.operation == Operation::release || event.operation == Operation::write;
    const bool singles = event.operation == Operation::renewal ||
                         event.operation == Operation::loss || event.operation == Operation::death;
    if ((!pairs && !singles) || singles != (event.phase == Phase::single)) {
      complain(event, "no such event");
      return false;
    }
    return true;
  }

  bool note_process(const Event& event) {
    if (event.process >= most_processes) {
      complain(event, "its process index is out of range");
      return false;
    }
    if (event.process >= clients_.size()) {
      clients_.resize(event.process + 1);
    }
    ClientProcess& client = clients_[event.process];
    if (client.seen && client.pid != event.pid) {
      complain(event, "two processes of different pids share this index");
    }
    client.seen = true;
    client.pid = event.pid;
    if (event.operation != Operation::death) {
      client.last = std::max(client.last, event.time);
      return true;
    }
    if (client.dead || event.deadline < event.time) {
      complain(event, client.dead ? "it died before" : "it was reaped before it was killed");
    }
    client.dead = true;
    client.sent = event.time;
    client.reaped = event.deadline;
    ++out_.counts.deaths;
    return true;
  }

  void pair(const Event& event) {
    const Event* invoke = invoke_of(event.op);
    if (invoke == nullptr || invoke->operation != event.operation ||
        invoke->process != event.process || invoke->name != event.name ||
        invoke->hold != event.hold || invoke->shape != event.shape) {
      complain(event, "it was never invoked");
      return;
    }
    if (event.time < invoke->time) {
      complain(event, "it returned before it was invoked");
      return;
    }
    if (outcome_[event.op] != Outcome::none) {
      complain(event, "it returned before");
      return;
    }
    if (event.outcome == Outcome::none ||
        (event.outcome == Outcome::was_lost && event.operation != Operation::release)) {
      complain(event, "it cannot have this outcome");
      return;
    }
    outcome_[event.op] = event.outcome;
    settle(*invoke, event);
  }

  void settle(const Event& invoke, const Event& event) {
    if (event.operation == Operation::acquire) {
      if (event.outcome == Outcome::ok) {
        out_.holds.push_back(record(invoke, event));
        tails_.push_back({.deadline = event.deadline, .deadline_set = event.time});
        hold_at_[event.op] = static_cast<std::uint32_t>(out_.holds.size());
      } else if (event.outcome == Outcome::fail) {
        ++out_.counts.failed;
      }
    } else if (event.operation == Operation::write) {
      if (event.outcome == Outcome::ok) {
        out_.writes.push_back(record(invoke, event));
        out_.writes.back().end = invoke.time;
        out_.writes.back().cause = EndCause::written;
        // One resource, whatever its writers held.
        out_.writes.back().shape = Shape::exclusive;
      } else if (event.outcome == Outcome::fail) {
        ++out_.counts.refused_writes;
      }
    }
  }

  static HoldRecord record(const Event& invoke, const Event& event) {
    HoldRecord made;
    made.op = event.op;
    made.token = event.token;
    made.invoked = invoke.time;
    made.returned = event.time;
    made.name = event.name;
    made.shape = event.shape;
    made.process = event.process;
    made.owner = event.owner;
    made.pid = event.pid;
    return made;
  }

  void attach(const Event& event) {
    const bool opens = event.operation == Operation::acquire || event.operation == Operation::death;
    if (opens || event.phase == Phase::returned || event.op > most_ops) {
      return;
    }
    const std::uint32_t number = event.hold < hold_at_.size() ? hold_at_[event.hold] : 0;
    if (number == 0) {
      complain(event, "its hold was never granted");
      return;
    }
    const HoldRecord& hold = out_.holds[number - 1];
    if (hold.process != event.process || hold.name != event.name || hold.token != event.token) {
      complain(event, "it belongs to a hold of another process, name or token");
    } else if (event.time < hold.returned) {
      complain(event, "it came before its hold was granted");
    } else if (event.operation == Operation::renewal && event.deadline == 0) {
      complain(event, "it names no deadline");
    } else {
      attach(event, tails_[number - 1]);
    }
  }

  void attach(const Event& event, Tail& tail) {
    if (event.operation == Operation::renewal) {
      ++out_.counts.renewals;
      const bool later = event.time > tail.deadline_set;
      const bool same_time = event.time == tail.deadline_set && event.deadline > tail.deadline;
      if (later || same_time) {
        tail.deadline = event.deadline;
        tail.deadline_set = event.time;
      }
    } else if (event.operation == Operation::loss) {
      ++out_.counts.losses;
      tail.lost = std::min(tail.lost, event.time);
    } else if (event.operation == Operation::release) {
      // A release that cannot have happened ends nothing. One that never answered may have.
      if (outcome_[event.op] != Outcome::fail) {
        ++out_.counts.releases;
        tail.released = std::min(tail.released, event.time);
        tail.in_doubt = tail.in_doubt || outcome_[event.op] != Outcome::ok;
      }
      if (outcome_[event.op] == Outcome::was_lost) ++out_.counts.losses;
    }
  }

  void finish() {
    for (std::size_t i = 0; i < out_.holds.size(); ++i) {
      end(out_.holds[i], tails_[i]);
    }
    for (std::uint32_t process = 0; process < clients_.size(); ++process) {
      const ClientProcess& client = clients_[process];
      out_.counts.processes += client.seen ? 1 : 0;
      if (client.dead && client.last > client.reaped) {
        Event posthumous;
        posthumous.process = process;
        posthumous.time = client.reaped;
        posthumous.operation = Operation::death;
        posthumous.phase = Phase::single;
        complain(posthumous, "it recorded an event after its death");
      }
    }
    out_.counts.granted = out_.holds.size();
    out_.counts.writes = out_.writes.size();
    out_.counts.unknown = out_.counts.attempts - out_.counts.granted - out_.counts.failed;
  }

  void end(HoldRecord& hold, const Tail& tail) const {
    const auto earlier = [&hold](std::int64_t time, EndCause cause) {
      if (time < hold.end) {
        hold.end = time;
        hold.cause = cause;
      }
    };
    const ClientProcess& client = clients_[hold.process];
    if (tail.deadline != 0) {
      earlier(tail.deadline, EndCause::deadline);
    } else if (client.dead) {
      // It still recorded events after the signal was sent: then it still lived.
      earlier(std::max(client.sent, client.last), EndCause::death);
    }
    earlier(tail.lost, EndCause::loss);
    earlier(tail.released, EndCause::released);
    if (loss_excuses_ && (tail.in_doubt || tail.lost != never)) {
      hold.end = hold.invoked;
      hold.cause = EndCause::excused;
    }
  }

  const Event* invoke_of(std::uint64_t op) const {
    const bool known = op < invoke_at_.size() && invoke_at_[op] != 0;
    return known ? &events_[invoke_at_[op] - 1] : nullptr;
  }

  std::span<const Event> events_;
  bool loss_excuses_;
  Gathered out_;
  std::vector<std::uint32_t> invoke_at_;  // op -> event + 1
  std::vector<Outcome> outcome_;          // op -> outcome of its return
  std::vector<std::uint32_t> hold_at_;    // op of an acquisition -> hold + 1
  std::vector<Tail> tails_;               // beside out_.holds
  std::vector<ClientProcess> clients_;
};

}  // namespace

Gathered gather(std::span<const Event> events, bool loss_excuses) {
  return Gatherer(events, loss_excuses).run();
}

std::string at(std::int64_t time, std::int64_t origin) {
  char text[48];
  // Unsigned, since a deadline of nonsense may lie further away than a signed difference reaches.
  const auto to = static_cast<std::uint64_t>(time);
  const auto from = static_cast<std::uint64_t>(origin);
  const std::uint64_t size = time < origin ? from - to : to - from;
  std::snprintf(text, sizeof(text), "%c%llu.%09llu s", time < origin ? '-' : '+',
                static_cast<unsigned long long>(size / 1'000'000'000),
                static_cast<unsigned long long>(size % 1'000'000'000));
  return text;
}

}  // namespace mortise::model
