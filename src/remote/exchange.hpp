// SPDX-License-Identifier: MIT
// Decides for each call of a client whether it is sent now, later or never again, and whether a
// failure is final. It is the same for every store. The store encodes a call and writes it.
#pragma once

#include <mortise/operation.hpp>

#include "base/farewell.hpp"
#include "base/mutant.hpp"
#include "base/one_by_one.hpp"
#include "remote/attempt_course.hpp"
#include "remote/outbox.hpp"
#include "remote/purpose.hpp"
#include "remote/waiting_calls.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <list>
#include <memory>
#include <string>
#include <utility>

namespace mortise::remote {

/// @return true if no caller and no attempt needs the answer to a call, or if the client tried the
/// call for so long that the server has ended the hold by itself.
template <class Call, class Courses>
[[nodiscard]] bool is_over(const Call& call, const Courses& courses, Instant now) {
  // If this is the last reference, no caller waits. A call may be the client's own: it gives back
  // a grant that no caller wanted.
  bool is_unattended = call.operation.use_count() == 1;
  std::chrono::nanoseconds lease = call.lease;
  switch (call.purpose()) {
    // The next one begins when this one ends, so one that is dropped would be the last one. The
    // process may have stood still for longer than calls are kept.
    case Purpose::route: return false;
    // It is repeated as long as a lost request may take effect, however long that takes to commit.
    case Purpose::look:
      lease = call.shared_acquisition()->request().lease;
      return courses.ask(call.attempt(), [&](const AttemptCourse& course) {
        const bool is_undone = !course.is_to_be_undone() || course.was_tried_enough(lease, now);
        return is_undone && course.lost().is_forgotten(now);
      });
    case Purpose::undo:
    case Purpose::cancel:
      // Its attempt may have failed for its caller, and still be somewhere at the server.
      if (!courses.find(call.attempt())) return true;
      is_unattended = is_unattended || courses.ask(call.attempt(), &AttemptCourse::is_unresolved);
      lease = call.shared_acquisition()->request().lease;
      break;
    default:
      if (call.operation->done()) return true;
  }
  return is_unattended && was_tried_enough(call.since, lease, now);
}

/// A renewal is complete without an answer: its caller repeats it within the lease.
template <class Call>
void leave_unanswered(const Call& call, const Failure& why) {
  call.operation->trouble(why);
  static_cast<Renewal&>(*call.operation).answered();
}

/// The look at an attempt could not be sent: it begins again with the next connection.
template <class Courses>
void fail_look(Courses& courses, const AttemptId& attempt) {
  courses.on(attempt, [](auto& entry) { entry.course.lost().fail_look(); });
}

/// If there is no memory to send the call, it counts as lost with its connection.
/// @return as Exchange::Store::send()
template <class Store, class Line, class Call>
[[nodiscard]] bool send_by(Store& store, Line& line, Call& call) {
  try {
    return store.send(line, call);
  } catch (const std::exception&) {
    store.note_lost(line, call);
    throw;
  }
}

/// close() begins: looks now, even if a lost request may still arrive. The client cannot take back
/// a hold that a request takes after the end.
template <class Exchange, class Courses>
void hurry(Exchange& exchange, Courses& courses, Instant now) {
  courses.hurry(now);
  exchange.look(now, true);
}

/// @param until a look that is due later gets no answer before the end
/// @return true if the client has something to take back or to give back that no caller waits for
template <class Exchange, class Courses>
[[nodiscard]] bool is_any_pending(Exchange& exchange, const Courses& courses, Instant now,
                                  Instant until) {
  return courses.is_any_pending(now, until) || exchange.waiting().is_any_awaited();
}

/// The client is closed: completes all operations with `closed`.
/// @param words returns the store in words
/// @param end_lines ends the connections, and passes to its argument the calls that each of them
/// has not answered
template <class Exchange, class Courses, class Words, class EndLines>
void end_all(Exchange& exchange, const Courses& courses, Words words, EndLines end_lines) noexcept {
  const auto end = [&](const auto& calls) {
    for (const auto& call : calls) base::farewell(*call.operation, words);
  };
  end(exchange.close());
  end_lines(end);
  end(exchange.close());  // a call that was sent to a connection that had ended already
  // Without memory for a list, a waiting caller sees by itself that the client is closed.
  base::without_memory([&] {
    for (const auto& operation : courses.undecided()) base::farewell(*operation, words);
  });
}

template <class Call>
[[nodiscard]] std::list<Call> alone(Call call) {
  std::list<Call> calls;
  calls.push_back(std::move(call));
  return calls;
}

/// The state of a line.
struct LineState {
  std::uint64_t connection = 0;  ///< the number of its connection, which grows; 0 = there is none
  /// false: so many calls are under way that a further one would wait at the server.
  bool has_room = true;
  /// false: a connection cannot be made for now, and the exchange will not learn when it can.
  bool may_come_up = true;

  /// @return true if a call of that purpose can leave, and need not wait for one that asks for the
  /// lines.
  template <class Routes>
  [[nodiscard]] bool may_leave(Purpose purpose, const Routes& routes) const noexcept {
    return connection != 0 && (purpose == Purpose::route || routes.is_settled());
  }
};

/// A call that cannot leave waits here for its line. A call of an attempt waits as the course of
/// the attempt does: the next connection sends what the course wants by then.
///
/// A failed allocation behind `submit()` counts as a lost connection: the call is kept, and the
/// next connection sends it. `submit()` throws if there is no memory to keep the call: its caller
/// repeats it.
/// @tparam Call as remote::Call, with `successor()` and `is_bound()`; `of()` makes one of a
/// purpose, its operation and a moment. `asks_on_each_connection` is true if a server forgets with
/// a connection which attempts have asked: each new connection then asks for all of them again.
/// @tparam Line a connection, or those of one server
/// @tparam Courses the attempts of the client: see remote::Courses
/// @thread_safety every member may be called concurrently; the store is called under no mutex
template <class Call, class Line, class Courses>
class Exchange {
 public:
  using Waiting = WaitingCalls<Call, Line>;
  using Calls = typename Waiting::Calls;
  using Attempt = std::shared_ptr<Acquisition>;

  /// The store: encodes calls and writes them.
  class Store {
   public:
    virtual ~Store() = default;
    /// @return the line by which a call goes, as things are now.
    [[nodiscard]] virtual Line& line_of(const Call& call) = 0;
    [[nodiscard]] virtual LineState state_of(const Line& line) const noexcept = 0;
    /// Has it connect, even if there is no memory for the result.
    /// @param now true: without waiting for the back-off to pass
    /// @return why there is no connection; none = there is, or that is not known
    virtual Failure want(Line& line, bool now) = 0;
    /// Encodes and writes a call. May throw before the call has left, for example without memory:
    /// `note_lost()` comes next, with the call as `send()` left it.
    /// @return false: there is no connection, and nothing was done
    [[nodiscard]] virtual bool send(Line& line, Call& call) = 0;
    /// The connection broke before it answered: notes what the call may have done.
    virtual void note_lost(const Line& line, Call& call) noexcept = 0;
    /// There was no memory: all connections are made again.
    virtual void break_lines() noexcept = 0;
    /// `due()` is earlier than before: a thread that sleeps until then has to know.
    virtual void sooner() = 0;
  };
  /// The lines of calls. In most stores each call keeps its line.
  class Routes {
   public:
    virtual ~Routes() = default;
    /// @return a number that is another one after each change of that.
    [[nodiscard]] virtual std::uint64_t version() const noexcept { return 0; }
    /// @return true if that is known. Until then only calls that ask for it may leave.
    [[nodiscard]] virtual bool is_settled() const noexcept { return true; }
    /// A call is made for that line.
    virtual void use(Line& /*line*/, const Call& /*call*/) {}
    /// A call is about to be sent again. @return true: the store has made another one of it
    [[nodiscard]] virtual bool sends_instead(Call& /*call*/) { return false; }
    /// The connection broke, or could not be made. @param calls that it has not answered
    virtual void lost(Line& /*line*/, Calls& /*calls*/) {}
    /// One of those asked which call goes by which line.
    virtual void lost_route(Line& /*line*/) {}
  };

  /// @param store, courses outlive it
  Exchange(Store& store, Courses& courses, std::shared_ptr<Clock> clock)
      : store_(store), courses_(courses), clock_(std::move(clock)) {}

  /// Call this before the first request. @param routes outlive it
  void follow(Routes& routes) noexcept { routes_ = &routes; }
  /// The calls that are not under way.
  [[nodiscard]] Waiting& waiting() noexcept { return waiting_; }

  /// @param call its operation outlives this step
  void submit(Call call) {
    Line& line = store_.line_of(call);
    if (call.since == Instant{}) call.since = call.asked;
    const Purpose purpose = call.purpose();
    routes_->use(line, call);
    const LineState state = store_.state_of(line);
    bool has_memory = true;
    if (state.may_leave(purpose, *routes_)) {
      const bool in_order = purpose != Purpose::route && purpose != Purpose::look;
      if (in_order && (waiting_.any(line) || !state.has_room)) {
        // The time of a call begins when it leaves. If thousands were under way, the last ones
        // would count as lost although the server answers steadily.
        if (call.since == Instant{}) call.since = clock_->now();
        if (purpose == Purpose::take) courses_.wanted(call.shared_acquisition());
        waiting_.keep(line, alone(std::move(call)));
        let_leave(line);  // there may be room by now
        // The connection may have been lost before the call was kept.
        if (store_.state_of(line).connection == 0) static_cast<void>(store_.want(line, false));
        return;
      }
      try {
        if (send_by(store_, line, call)) return;
      } catch (const std::exception&) {
        has_memory = false;
      }
    }
    if (purpose == Purpose::hint) return static_cast<void>(store_.want(line, false));
    if (purpose == Purpose::renew && !state.may_come_up) {
      return leave_unanswered(call, store_.want(line, true));
    }
    if (call.since == Instant{}) call.since = clock_->now();
    if (purpose == Purpose::take) courses_.wanted(call.shared_acquisition());
    if (has_memory) return put(alone(std::move(call)));
    keep(line, alone(std::move(call)));
    store_.break_lines();
  }
  /// @param once not if the attempt was asked for on that connection before: the second copy of a
  /// try could take a lock that became free in between, for no caller
  void ask(const Attempt& attempt, bool once = false) {
    Call call = Call::of(Purpose::take, attempt, once ? clock_->now() : Instant{});
    call.once = once;
    submit(std::move(call));
  }
  /// It waits for its line. @param one call
  void put(Calls one) {
    const Call& call = one.front();
    const std::shared_ptr<Operation> operation = call.operation;
    const Purpose purpose = call.purpose();
    // A new request waits less than a repeated one after a failure, see `pause_of_new_request()`.
    // The library paces renewals by their lease: each counts as a new one.
    const bool at_once = purpose == Purpose::renew || !operation->in_trouble();
    // Read the version first: if the call gets another line meanwhile, `moved()` may have come too
    // early for it.
    const std::uint64_t version = routes_->version();
    Line& line = store_.line_of(call);
    const bool is_kept = keep(line, std::move(one));
    Failure why = store_.want(line, at_once);
    if (routes_->version() != version) return moved();
    // The line may have come up in between, before the call was kept.
    if (store_.state_of(line).may_leave(purpose, *routes_)) {
      is_kept && routes_->is_settled() ? send_again(waiting_.take(line)) : connected(line);
    } else if (why) {
      operation->trouble(std::move(why));
    }
  }
  /// Sends them again, if they are wanted.
  void send_again(Calls calls) {
    const Instant now = clock_->now();
    each(std::move(calls), [&](Calls& one) {
      Call& call = one.front();
      if (is_over(call, courses_, now)) return give_up(call);
      if (routes_->sends_instead(call)) return;
      call.asked = now;
      submit(call);
    });
  }
  /// Sends it again at that moment. Of several calls of one operation that have the same purpose,
  /// it sends the newest, at the earliest of their moments.
  void repeat_at(const Call& call, Instant when) {
    waiting_.repeat_at(call, when);
    store_.sooner();
  }
  /// Releases a hold that no caller has. The attempt may keep a hold of another grant.
  /// @param lease how long it would keep others out
  void give_back(const std::shared_ptr<Release>& hold, std::chrono::nanoseconds lease) {
    if (is_closed_.load()) return hold->failed({Errc::closed, std::string()});
    waiting_.await(hold);
    Call call = Call::of(Purpose::give_back, hold, clock_->now());
    call.lease = lease;
    submit(std::move(call));
  }
  /// Its operation is complete, and the server has nothing of it by an answer. But an earlier
  /// request, which was lost, may have taken a hold.
  /// @param looked a look at it was refused. The next one would be refused as well, and close()
  /// would wait for that
  void over(const AttemptId& attempt, bool looked = false) {
    if (looked) {
      courses_.on(attempt, [](auto& entry) {
        entry.course.settle();
        entry.course.lost().clear();
      });
    }
    courses_.over(attempt);
    if (courses_.next_look() != never) look(attempt);
  }
  /// Its caller has an error. But the server may have queued the attempt, or may grant it.
  void abandon(const Attempt& attempt) noexcept {
    if (base::mutant("redis.leave_what_failed_at_the_server")) return;
    if (courses_.abandoned(attempt, clock_->now())) undo(attempt);
  }
  /// Looks at the attempts of which a lost request may have taken a hold, if that is due.
  /// @param connected true: begin the looks again that failed without a connection, and take back
  /// the attempts whose callers have an error
  void look(Instant now, bool connected) {
    if (connected) {
      for (const Attempt& attempt : courses_.to_undo(now)) undo(attempt);
    }
    for (const Attempt& attempt : courses_.begin_looks(now, connected)) {
      submit_own(Call::of(Purpose::look, attempt, clock_->now()));
    }
  }
  /// The same of one attempt, which is decided now. If the look is due later, the thread that
  /// sleeps has to know.
  void look(const AttemptId& attempt) {
    if (const Attempt its = courses_.begin_look(attempt, clock_->now())) {
      submit_own(Call::of(Purpose::look, its, clock_->now()));
    } else if (courses_.next_look() != never) {
      store_.sooner();
    }
  }

  /// Calls can leave by it.
  void connected(Line& line) {
    Calls calls = waiting_.take(line);
    if (!routes_->is_settled()) {
      const auto sort = [&](Calls& one) {
        if (one.front().purpose() == Purpose::route) return send_again(std::move(one));
        waiting_.keep(line, std::move(one));
      };
      each(std::move(calls), sort);
      // Another thread may have settled it in between, before these calls were kept.
      if (routes_->is_settled()) connected(line);
      return;
    }
    send_again(std::move(calls));
    const std::uint64_t connection = store_.state_of(line).connection;
    if (Call::asks_on_each_connection && connection != 0) {  // not lost already
      // A thread that found the connection just up does this beside its reader.
      for (const Attempt& attempt : courses_.undecided(connection)) {
        if (&store_.line_of(Call::of(Purpose::take, attempt, {})) == &line) ask(attempt, true);
      }
    }
    // Behind those: whatever is decided by now was not asked for, or will be answered here.
    look(clock_->now(), true);
  }
  /// It has room: calls that wait for that leave.
  void let_leave(Line& line) {
    if (!waiting_.any(line)) return;  // as nearly always
    const Instant now = clock_->now();
    const auto send_one = [&](Calls& one) {
      Call& call = one.front();
      if (is_over(call, courses_, now)) return give_up(call);
      call.asked = {};
      // The store may read the operation after its answer has come, when the caller has left.
      const std::shared_ptr<Operation> operation = call.operation;
      if (!send_by(store_, line, call)) put(std::move(one));
    };
    for (;;) {
      const LineState state = store_.state_of(line);
      if (!state.may_leave(Purpose::take, *routes_) || !state.has_room) return;
      Calls one = waiting_.take(line, 1);
      if (one.empty() || !each(std::move(one), send_one)) return;
    }
  }
  /// Calls go by other lines than before.
  void moved() {
    send_again(waiting_.take_all());
    look(clock_->now(), true);
  }
  /// A connection was lost: decides that for all calls of its line.
  /// @param final the next connection will fail as well
  /// @param was_up false: it could not be made
  void lost(Line& line, const Failure& why, bool final, bool was_up, Calls unanswered) {
    if (is_closed_.load()) return;
    for (Call& call : unanswered) store_.note_lost(line, call);
    Calls calls = std::move(unanswered);
    calls.splice(calls.end(), waiting_.take(line));
    calls.splice(calls.end(), waiting_.take_held_up(line));  // their answers are out of date
    const auto is_route = [](const Call& call) { return call.purpose() == Purpose::route; };
    const bool is_any_route = calls.remove_if(is_route) > 0;
    base::OneByOne each_of;
    each_of([&] { routes_->lost(line, calls); });
    if (!base::mutant("postgres.repeats_each_copy")) calls = one_of_each(std::move(calls));
    const bool failed =
        !each(std::move(calls), [&](Calls& one) { leave_behind(one, why, final, was_up); });
    // Of several connections another one may be up, which has sent all that waits. A server that is
    // up while the routes are not known has sent nothing.
    const bool may_leave = store_.state_of(line).may_leave(Purpose::take, *routes_);
    each_of([&] { may_leave ? look(clock_->now(), true) : tell_undecided(line, why, final); });
    // Behind what waits for it by now.
    if (is_any_route) each_of([&] { routes_->lost_route(line); });
    if (failed || each_of.failed() || (!may_leave && courses_.may_any_be_pending(clock_->now()))) {
      static_cast<void>(store_.want(line, false));
    }
    each_of.finish();
  }
  /// The server refused it and did nothing. @param final it will refuse the call again
  void refused(const Call& call, const Failure& why, bool final) {
    const Purpose purpose = call.purpose();
    const Fate fate = fate_of_refused(purpose, final);
    const Attempt next = call.successor();
    if (fate == Fate::fail) {
      if (next) next->failed(why);
      call.operation->failed(why);
      give_up(call);
      // An earlier request may have put it into the queue, and its cancel may not have left yet.
      const auto end = [this](const Attempt& attempt) {
        const AttemptId& id = attempt->request().attempt;
        courses_.ask(id, may_be_queued) ? abandon(attempt) : over(id);
      };
      if (next) end(next);
      if (purpose == Purpose::take) return end(call.shared_acquisition());
      if (is_of_attempt(purpose)) over(call.attempt(), purpose == Purpose::look);
      return;
    }
    if (purpose == Purpose::take) {
      courses_.on(call.attempt(), [](auto& entry) { entry.course.refuse(); });
    }
    if (fate == Fate::later) repeat_at(call, clock_->now() + after_a_refusal);
    if (next) next->trouble(why);
    call.operation->trouble(why);
  }
  /// Its answer made no sense, and its connection is of no use.
  void misread(const Line& line, const Call& call, const Failure& why) {
    if (fate_of_misread(call.purpose()) != Fate::keep) return fail(call, why);
    // The server may not have executed it. So this counts as no answer, and the next connection
    // sends it again.
    Calls one = alone(call);
    // A look is noted already: not once more each time, or it would be repeated without end.
    if (call.purpose() != Purpose::look) store_.note_lost(line, one.front());
    call.operation->trouble(why);
    keep(line, std::move(one));
  }

  /// @return when `tick()` has to be called.
  [[nodiscard]] Instant due() const noexcept {
    return std::min(waiting_.due(), courses_.next_look());
  }
  void tick(Instant now) {
    send_again(waiting_.take_due(now));
    look(now, false);
  }
  /// @return what is not sent any more. Call it again when the lines have ended.
  [[nodiscard]] Calls close() noexcept {
    is_closed_.store(true);
    return waiting_.close();
  }

 private:
  // No caller repeats it: the client does, after this time.
  static constexpr std::chrono::milliseconds after_a_refusal{500};

  /// Does that with each call. @return false: memory failed; the other calls are kept
  template <class Work>
  bool each(Calls calls, Work work) noexcept {
    const auto keep_it = [this](Calls one) {
      const Line& line = store_.line_of(one.front());
      keep(line, std::move(one));
    };
    if (!each_or_keep(std::move(calls), std::move(work), keep_it)) return true;
    store_.break_lines();
    return false;
  }

  /// @param line of the step that keeps it, which looks for the call there
  /// @param one call, for the next connection
  /// @return false: its course has noted it, and it does not wait itself
  bool keep(const Line& line, Calls one) noexcept {
    const Call& call = one.front();
    switch (call.purpose()) {
      // Attempts wait in their courses, and so does what takes them back behind their callers.
      case Purpose::look: fail_look(courses_, call.attempt()); return false;
      case Purpose::take:
        if (Call::asks_on_each_connection && !call.is_bound()) return false;
        break;
      case Purpose::undo:
      case Purpose::cancel:
        if (courses_.ask(call.attempt(), &AttemptCourse::is_to_be_undone)) return false;
        break;
      default: break;
    }
    waiting_.keep(line, std::move(one));
    return true;
  }
  void give_up(const Call& call) {
    switch (call.purpose()) {
      // Replicas did not have the grant, so its caller never got it, and may still wait for the
      // attempt. As long as a release of the grant is noted, each new grant is refused.
      case Purpose::give_back: {
        const HoldId& hold = call.releasing().hold();
        courses_.on(hold.attempt, [&](auto& entry) { entry.course.release(hold.number); });
        return;
      }
      // No call takes it back any more. So a look has to show what a lost request took.
      case Purpose::undo:
      case Purpose::cancel:
        if (!courses_.find(call.attempt())) return;
        call.operation->failed({Errc::unavailable, std::string()});
        return over(call.attempt());
      case Purpose::look: return fail_look(courses_, call.attempt());
      default: return;
    }
  }

  void leave_behind(Calls& one, const Failure& why, bool final, bool was_up) {
    const Call& call = one.front();
    Fate fate = fate_of_lost(call.purpose(), final, was_up);
    if (call.purpose() == Purpose::look) return fail_look(courses_, call.attempt());
    // No connection asks for it by itself.
    const bool is_left = !Call::asks_on_each_connection && call.purpose() == Purpose::take;
    if (fate == Fate::drop && is_left) fate = Fate::keep;
    if (fate == Fate::drop) return;
    if (is_over(call, courses_, clock_->now())) return give_up(call);
    if (fate == Fate::fail) return fail(call, why);
    if (fate == Fate::keep) return put(std::move(one));
    leave_unanswered(call, why);
  }
  void fail(const Call& call, const Failure& why) {
    call.operation->failed(why);
    if (call.purpose() != Purpose::take) return;
    // The server may have granted it.
    Call lost = call;
    store_.note_lost(store_.line_of(call), lost);
    abandon(call.shared_acquisition());
  }
  void tell_undecided(Line& line, const Failure& why, bool final) {
    base::OneByOne each_of;
    for (const Attempt& attempt : courses_.undecided()) {
      if (&store_.line_of(Call::of(Purpose::take, attempt, {})) != &line) continue;
      // An attempt that was never sent on that connection did not cause the wrong reply.
      if (final && why.code != Errc::protocol) {
        // The server may have executed a copy before the connection broke.
        each_of([&] {
          attempt->failed(why);
          abandon(attempt);
        });
      } else {
        static_cast<void>(store_.want(line, false));
        each_of([&] { attempt->trouble(why); });
      }
    }
    each_of.finish();
  }

  void undo(const Attempt& attempt) noexcept {
    // It may have become a hold by now, which the answer to a look names.
    const bool holds = courses_.ask(attempt->request().attempt, &AttemptCourse::number) != 0;
    submit_own(Call::of(holds ? Purpose::look : Purpose::undo, attempt, clock_->now()));
  }
  /// Without memory, the next connection begins with what its course wants.
  void submit_own(Call call) noexcept {
    const AttemptId attempt = call.attempt();
    try {
      submit(std::move(call));
    } catch (const std::exception&) {
      fail_look(courses_, attempt);
      store_.break_lines();
    }
  }

  Store& store_;
  Routes fixed_;
  Routes* routes_ = &fixed_;
  Courses& courses_;
  const std::shared_ptr<Clock> clock_;
  Waiting waiting_;
  std::atomic<bool> is_closed_{false};
};

/// The caller of an attempt takes it back.
/// @param call asks the server for that
template <class Exchange, class Courses, class Call>
void cancel(Exchange& exchange, Courses& courses, Call call) {
  const std::shared_ptr<Acquisition> operation = call.shared_acquisition();
  if (!courses.cancelled(operation)) {
    operation->busy(operation->holder());  // the server was never asked
    // Until that was complete, a new connection or a message may have asked for it.
    if (!courses.cancelled(operation)) return exchange.over(operation->request().attempt);
  }
  exchange.submit(std::move(call));
}

}  // namespace mortise::remote
