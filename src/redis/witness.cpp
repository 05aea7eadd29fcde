// SPDX-License-Identifier: MIT
// WAIT looks at the offset of its own client: after each command up to Redis 7.0, after each that
// was replicated since 7.2 (server.c, `c->woff`). PUBLISH is replicated by a server that is no node
// of a cluster (pubsub.c, publishCommand()); a cluster would need a write to one of its slots.
#include "redis/witness.hpp"

#include "base/mutant.hpp"
#include "redis/command.hpp"
#include "redis/rights.hpp"
#include "redis/server_error.hpp"
#include "remote/outbox.hpp"

#include <algorithm>
#include <exception>
#include <initializer_list>
#include <utility>

namespace mortise::redis {
namespace {

// As long as this at least, however soon the first one is over.
constexpr std::chrono::milliseconds shortest_wait{5};

}  // namespace

Witness::Witness(Host& host, const Settings& settings, const remote::Tls* tls)
    : host_(host),
      settings_(settings),
      clock_(host.clock()),
      channel_(settings.prefix + "inbox:witness"),
      connection_(host, settings, tls, std::string(), static_cast<Connection::User&>(*this)) {}

Witness::~Witness() = default;

void Witness::attach() {
  host_.attach(connection_);
  host_.attach(timer_);
}

void Witness::detach() noexcept {
  host_.detach(timer_);
  host_.detach(connection_);
}

void Witness::follow(const base::Endpoint& endpoint, const std::string& host,
                     const std::string& run_id, std::uint64_t clock) {
  bool another = false;
  {
    const std::lock_guard lock(mutex_);
    follows_ = true;
    endpoint_ = endpoint;
    host_name_ = host;
    run_id_ = run_id;
    granting_ = clock;
    another = !met_.empty() && met_ != run_id;
  }
  if (another) {
    connection_.abandon(
        {Errc::unavailable, connection_.where() + ": the endpoint leads to another server now"});
  }
  connection_.want_at(endpoint, true, host);
  begin(clock_->now());  // it may be there already
}

void Witness::lose(const Failure& why) {
  Pendings all;
  {
    const std::lock_guard lock(mutex_);
    follows_ = false;
    all.swap(under_way_);
    all.splice(all.end(), seen_);
    static_cast<void>(note_due_locked());
  }
  tell(all, why);
}

void Witness::attest(std::uint64_t clock, Instant until, Verdict verdict) {
  Pendings one;
  one.push_back({clock, until, std::move(verdict)});
  bool closed = false;
  {
    const std::lock_guard lock(mutex_);
    closed = closed_;
    if (!closed) seen_.splice(seen_.end(), one);
  }
  if (closed) return tell(one, {Errc::closed, connection_.where()});
  begin(clock_->now());
}

Instant Witness::first_locked() const noexcept {
  Instant first = never;
  for (const Pending& each : seen_) first = std::min(first, each.until);
  return first;
}

// Under the mutex. While a WAIT is under way its end is the moment; and that has one.
// @return whether it is an earlier one than before
bool Witness::note_due_locked() noexcept { return due_.set(asks_ ? never : first_locked()); }

void Witness::begin(Instant now) {
  std::chrono::milliseconds time{};
  std::uint64_t epoch = 0;
  bool sooner = false;
  bool asks = false;
  Pendings strange;
  {
    const std::lock_guard lock(mutex_);
    if (asks_ || seen_.empty()) return;
    if (follows_) {
      for (auto each = seen_.begin(); each != seen_.end();) {
        const auto next = std::next(each);
        if (each->clock != granting_) strange.splice(strange.end(), seen_, each);
        each = next;
      }
    }
    // First: a connection that breaks from here on, and is made anew, has begun by itself.
    epoch = connection_.calls().generation();
    if (!seen_.empty() && follows_ && met_ == run_id_ && connection_.up()) {
      asks = asks_ = true;
      refused_ = Failure{};
      time = std::max(shortest_wait,
                      std::chrono::duration_cast<std::chrono::milliseconds>(first_locked() - now));
      under_way_.splice(under_way_.end(), seen_);
    }
    sooner = note_due_locked();
  }
  if (sooner) host_.changed(timer_);
  if (asks) ask(time, epoch);
  if (!strange.empty()) tell(strange, of_another());
}

// Two questions on one connection, and each answer would be taken for that to the one before: what
// was seen after that one was asked would be told by it (S1).
void Witness::ask(std::chrono::milliseconds time, std::uint64_t epoch) {
  const auto say = [&](Word word, std::initializer_list<std::string_view> words) {
    std::string bytes;
    append_command(bytes, {words.begin(), words.size()});
    Call call;
    call.tag = static_cast<std::uint32_t>(word);
    call.written.generation = epoch;
    call.patience.usual = time + patience;
    return connection_.send(call, bytes) == Connection::Sent::sent;
  };
  bool sent = false;
  try {
    connection_.gather();  // one write for both
    sent = (base::mutant("redis.waits_for_nothing_new") ||
            say(Word::publish, {"PUBLISH", channel_, std::string_view()})) &&
           say(Word::wait, {"WAIT", Digits(static_cast<std::uint64_t>(settings_.replicas)),
                            Digits(static_cast<std::uint64_t>(time.count()))});
    connection_.send_gathered();
  } catch (const std::exception&) {
    sent = false;
  }
  // It is dropped soon, and made anew; or it was since: see dropped().
  if (!sent && connection_.calls().generation() == epoch) {
    connection_.mark_broken({Errc::unavailable, std::string()});
  }
}

void Witness::answered(const Call& call, const Reply& reply) {
  if (static_cast<Word>(call.tag) == Word::publish) {
    if (reply.kind == Reply::Kind::integer) return;
    const std::lock_guard lock(mutex_);
    refused_ = refusal(reply.text);
    return;
  }
  Failure why;
  {
    const std::lock_guard lock(mutex_);
    why = refused_;
  }
  if (!why && reply.is_error()) why = refusal(reply.text);
  if (!why && reply.kind != Reply::Kind::integer) {
    why = {Errc::protocol, connection_.where() + ": the server sent an invalid reply to WAIT"};
  }
  end_round(why ? 0 : reply.integer, why);
}

Failure Witness::refusal(const std::string& words) const {
  Failure why = server_error(connection_.where(), words).failure;
  why.text += remedy(settings_, words);
  return why;
}

// Those that have time left are asked about once more.
void Witness::end_round(long long replicas, const Failure& why) {
  const Instant now = clock_->now();
  const bool enough = !why && replicas >= settings_.replicas;
  Pendings over;
  {
    const std::lock_guard lock(mutex_);
    asks_ = false;
    for (auto each = under_way_.begin(); each != under_way_.end();) {
      const auto next = std::next(each);
      if (enough || why || each->until <= now) over.splice(over.end(), under_way_, each);
      each = next;
    }
    if (enough && base::mutant("redis.one_wait_answers_all")) over.splice(over.end(), seen_);
    seen_.splice(seen_.begin(), under_way_);
    static_cast<void>(note_due_locked());  // begin() tells
  }
  if (enough) {
    tell(over, Failure{});
  } else {
    tell(over, why ? why : too_few(replicas));
  }
  begin(now);
}

Failure Witness::too_few(long long replicas) const {
  return {Errc::unavailable, connection_.where() + ": " + std::to_string(replicas) + " of " +
                                 std::to_string(settings_.replicas) +
                                 " replicas acknowledged the write in time"};
}

Failure Witness::of_another() const {
  return {Errc::unavailable, connection_.where() + ": another server grants locks now"};
}

// Where there is no memory for what follows from it, it is told once more.
void Witness::tell(Pendings& those, const Failure& why) {
  Pendings again;
  const auto verdict = [&](Pendings& one) { one.front().verdict(why); };
  const auto keep = [&](Pendings one) { again.splice(again.end(), one); };
  if (!remote::each_or_keep(std::move(those), verdict, keep)) return;
  const Instant soon = clock_->now() + shortest_wait;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    for (Pending& each : again) each.until = std::max(each.until, soon);
    seen_.splice(seen_.end(), again);
    static_cast<void>(note_due_locked());
  }
  host_.changed(timer_);
}

void Witness::look(Instant now) {
  if (due_.get() > now) return;
  Pendings over;
  Failure why = why_down_.get();
  if (!why) why = {Errc::unavailable, connection_.where() + ": no reply to WAIT in time"};
  {
    const std::lock_guard lock(mutex_);
    for (auto each = seen_.begin(); !asks_ && each != seen_.end();) {
      const auto next = std::next(each);
      if (each->until <= now) over.splice(over.end(), seen_, each);
      each = next;
    }
    static_cast<void>(note_due_locked());
  }
  tell(over, why);
}

void Witness::greeted(Connection& /*connection*/, const ServerFacts& facts) {
  const std::lock_guard lock(mutex_);
  met_ = facts.run_id;
}

void Witness::connected(Connection& connection) {
  bool same = false;
  {
    const std::lock_guard lock(mutex_);
    same = met_ == run_id_;
  }
  why_down_.clear();
  if (!same) {
    return connection.drop(
        {Errc::unavailable, connection.where() + ": this connection leads to another server"});
  }
  begin(clock_->now());
}

// Whether it was acknowledged is not known, and asked about anew.
void Witness::dropped(Connection& connection, const Failure& why, bool /*was_up*/,
                      std::list<Call> /*unanswered*/) {
  bool sooner = false;
  why_down_.note(why);
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    asks_ = false;
    met_.clear();
    seen_.splice(seen_.begin(), under_way_);
    sooner = note_due_locked();
  }
  if (sooner) host_.changed(timer_);
  base::Endpoint endpoint;
  std::string host;
  {
    const std::lock_guard lock(mutex_);
    if (!follows_) return;
    endpoint = endpoint_;
    host = host_name_;
  }
  connection.want_at(endpoint, false, host);
}

void Witness::close() {
  Pendings all;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    follows_ = false;
    all.swap(under_way_);
    all.splice(all.end(), seen_);
    due_.set(never);
  }
  static_cast<void>(connection_.close());
  tell(all, {Errc::closed, connection_.where()});
}

}  // namespace mortise::redis
