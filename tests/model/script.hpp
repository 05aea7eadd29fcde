// SPDX-License-Identifier: MIT
// Histories written by hand, for tests of the checkers: each line of a script is one call with the
// times, the token and the outcome that the author wants, without files, clocks or processes.
#pragma once

#include "model/history.hpp"

#include <cstdint>
#include <vector>

namespace mortise::model {

class Script {
 public:
  struct Client {
    std::uint32_t process = 0;
    std::uint32_t owner = 0;
  };

  struct Acquired {
    Client client;
    std::uint32_t name = 0;
    std::uint64_t op = 0;
    std::uint64_t token = 0;
    Shape shape = Shape::exclusive;
  };

  // What is acquired from now on.
  void next_are(Shape shape) { shape_ = shape; }

  // An acquisition that was granted.
  Acquired acquire(Client client, std::uint32_t name, std::uint64_t token, std::int64_t invoked,
                   std::int64_t returned, std::int64_t deadline = 0) {
    const Acquired made{client, name, ++last_op_, token, shape_};
    add(made, Operation::acquire, Phase::invoked, invoked).token = 0;
    Event& back = add(made, Operation::acquire, Phase::returned, returned);
    back.deadline = deadline;
    back.outcome = Outcome::ok;
    return made;
  }

  // One that was not, or of which nobody knows.
  void attempt(Client client, std::uint32_t name, std::int64_t invoked, std::int64_t returned,
               Outcome outcome) {
    const Acquired made{client, name, open_attempt(client, name, invoked), 0, shape_};
    add(made, Operation::acquire, Phase::returned, returned).outcome = outcome;
  }

  // One that never came back.
  std::uint64_t open_attempt(Client client, std::uint32_t name, std::int64_t invoked) {
    const Acquired made{client, name, ++last_op_, 0, shape_};
    add(made, Operation::acquire, Phase::invoked, invoked);
    return made.op;
  }

  void release(const Acquired& hold, std::int64_t invoked, std::int64_t returned,
               Outcome outcome = Outcome::ok) {
    pair(hold, Operation::release, invoked, returned, outcome);
  }

  void open_release(const Acquired& hold, std::int64_t invoked) {
    add(hold, Operation::release, Phase::invoked, invoked).op = ++last_op_;
  }

  void write(const Acquired& hold, std::int64_t invoked, std::int64_t returned,
             Outcome outcome = Outcome::ok) {
    pair(hold, Operation::write, invoked, returned, outcome);
  }

  void renewal(const Acquired& hold, std::int64_t time, std::int64_t deadline) {
    Event& event = add(hold, Operation::renewal, Phase::single, time);
    event.op = ++last_op_;
    event.deadline = deadline;
  }

  void loss(const Acquired& hold, std::int64_t time) {
    add(hold, Operation::loss, Phase::single, time).op = ++last_op_;
  }

  void death(std::uint32_t process, std::int64_t sent, std::int64_t reaped) {
    Event& event = add({{process, 0}, 0, ++last_op_, 0, {}}, Operation::death, Phase::single, sent);
    event.deadline = reaped;
  }

  const std::vector<Event>& events() const { return events_; }
  std::vector<Event>& events() { return events_; }

 private:
  Event& add(const Acquired& hold, Operation operation, Phase phase, std::int64_t time) {
    Event event;
    event.time = time;
    event.op = hold.op;
    event.hold = operation == Operation::acquire ? 0 : hold.op;
    event.token = hold.token;
    event.owner = hold.client.owner;
    event.name = hold.name;
    event.process = hold.client.process;
    event.pid = static_cast<std::int32_t>(1000 + hold.client.process);
    event.operation = operation;
    event.shape = hold.shape;
    event.phase = phase;
    return events_.emplace_back(event);
  }

  void pair(const Acquired& hold, Operation operation, std::int64_t invoked, std::int64_t returned,
            Outcome outcome) {
    add(hold, operation, Phase::invoked, invoked).op = ++last_op_;
    Event& back = add(hold, operation, Phase::returned, returned);
    back.op = last_op_;
    back.outcome = outcome;
  }

  std::uint64_t last_op_ = 0;
  Shape shape_ = Shape::exclusive;
  std::vector<Event> events_;
};

}  // namespace mortise::model
