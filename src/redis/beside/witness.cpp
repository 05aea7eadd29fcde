// SPDX-License-Identifier: MIT
// WAIT looks at the offset of its own client: after each command up to Redis 7.0, after each that
// was replicated since 7.2 (server.c, `c->woff`). PUBLISH is replicated by a server that is no node
// of a cluster (pubsub.c, publishCommand()); a cluster would need a write to one of its slots.
#include "redis/beside/witness.hpp"

#include "base/mutant.hpp"
#include "redis/store/command.hpp"
#include "redis/store/rights.hpp"
#include "redis/store/server_error.hpp"
#include "remote/outbox.hpp"

#include <algorithm>
#include <exception>
#include <initializer_list>
#include <utility>

namespace mortise::redis {
namespace {

// A message that no client receives.
std::string channel_of(const Settings& settings) { return settings.prefix + "inbox:witness"; }

}  // namespace

Witness::Witness(Host& host, const Settings& settings, const remote::Tls* tls)
    : host_(host),
      settings_(settings),
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
    granting_ = {
        .endpoint = endpoint, .host = host, .run_id = run_id, .clock = clock, .is_lost = false};
    another = !met_.empty() && met_ != run_id;
  }
  if (another) {
    connection_.abandon(
        {Errc::unavailable, connection_.where() + ": the endpoint leads to another server now"});
  }
  connection_.want_at(endpoint, true, host);
  begin(now());  // it may be there already
}

void Witness::lose(const Failure& why) {
  Grants all;
  {
    const std::lock_guard lock(mutex_);
    granting_.is_lost = true;
    all = waiting_.take_all();
    waiting_.note_due();
  }
  tell(all, why);
}

void Witness::attest(std::uint64_t clock, Instant until, Verdict verdict) {
  Grants one;
  one.push_back({clock, until, std::move(verdict)});
  bool closed = false;
  {
    const std::lock_guard lock(mutex_);
    closed = closed_;
    if (!closed) waiting_.add(one);
  }
  if (closed) return tell(one, {Errc::closed, connection_.where()});
  begin(now());
}

void Witness::begin(Instant now) {
  std::chrono::milliseconds time{};
  std::uint64_t epoch = 0;
  bool sooner = false;
  bool asks = false;
  Grants strange;
  {
    const std::lock_guard lock(mutex_);
    if (!waiting_.wants_wait()) return;
    if (!granting_.is_lost) strange = waiting_.take_others(granting_.clock);
    // First: a connection that breaks from here on, and is made anew, has begun by itself.
    epoch = connection_.calls().generation();
    asks =
        waiting_.wants_wait() && !granting_.is_lost && met_ == granting_.run_id && connection_.up();
    if (asks) {
      refused_ = Failure{};
      time = waiting_.begin(now);
    }
    sooner = waiting_.note_due();
  }
  if (sooner) host_.changed(timer_);
  if (asks) ask(time, epoch);
  if (!strange.empty()) tell(strange, of_another());
}

// With two questions on one connection, each answer would count as the answer to the question
// before it. A grant that was seen after that question would be confirmed by it (S1).
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
            say(Word::publish, {"PUBLISH", channel_of(settings_), std::string_view()})) &&
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
  const Instant at = now();
  const bool enough = !why && replicas >= settings_.replicas;
  Grants over;
  {
    const std::lock_guard lock(mutex_);
    over = waiting_.end(enough || why, at);
    if (enough && base::mutant("redis.one_wait_answers_all")) {
      Grants later = waiting_.take_seen();
      over.splice(over.end(), later);
    }
    waiting_.note_due();  // begin() notifies
  }
  if (enough) {
    tell(over, Failure{});
  } else {
    tell(over, why ? why : too_few(replicas));
  }
  begin(at);
}

Failure Witness::too_few(long long replicas) const {
  return {Errc::unavailable, connection_.where() + ": " + std::to_string(replicas) + " of " +
                                 std::to_string(settings_.replicas) +
                                 " replicas acknowledged the write in time"};
}

Failure Witness::of_another() const {
  return {Errc::unavailable, connection_.where() + ": another server grants locks now"};
}

// If there is no memory for what follows from it, it is reported once more.
void Witness::tell(Grants& those, const Failure& why) {
  Grants again;
  const auto verdict = [&](Grants& one) { one.front().verdict(why); };
  const auto keep = [&](Grants one) { again.splice(again.end(), one); };
  if (!remote::each_or_keep(std::move(those), verdict, keep)) return;
  const Instant soon = now() + Unconfirmed::shortest_wait;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    for (Unconfirmed::Grant& each : again) each.until = std::max(each.until, soon);
    waiting_.add(again);
    waiting_.note_due();
  }
  host_.changed(timer_);
}

void Witness::look(Instant now) {
  if (waiting_.due() > now) return;
  Grants over;
  Failure why = why_down_.get();
  if (!why) why = {Errc::unavailable, connection_.where() + ": no reply to WAIT in time"};
  {
    const std::lock_guard lock(mutex_);
    over = waiting_.take_late(now);
    waiting_.note_due();
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
    same = met_ == granting_.run_id;
  }
  why_down_.clear();
  if (!same) {
    return connection.drop(
        {Errc::unavailable, connection.where() + ": this connection leads to another server"});
  }
  begin(now());
}

// It is not known whether replicas have acknowledged it: the next connection asks again.
void Witness::dropped(Connection& connection, const Failure& why, bool /*was_up*/,
                      std::list<Call> /*unanswered*/) {
  why_down_.note(why);
  bool sooner = false;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    met_.clear();
    waiting_.give_up();
    sooner = waiting_.note_due();
  }
  if (sooner) host_.changed(timer_);
  Granting there;
  {
    const std::lock_guard lock(mutex_);
    there = granting_;
  }
  if (!there.is_lost) connection.want_at(there.endpoint, false, there.host);
}

void Witness::close() {
  Grants all;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    granting_.is_lost = true;
    all = waiting_.take_all();
    waiting_.note_due();
  }
  static_cast<void>(connection_.close());
  tell(all, {Errc::closed, connection_.where()});
}

}  // namespace mortise::redis
