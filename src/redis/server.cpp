// SPDX-License-Identifier: MIT
// How the two connections of one server come and go together.
#include "redis/server.hpp"

#include "base/farewell.hpp"
#include "base/one_by_one.hpp"

#include <utility>

namespace mortise::redis {
namespace {

// The code says enough where there is no memory for the words.
void note(Failure& as, const Failure& why) noexcept {
  as.code = why.code;
  as.text.clear();
  base::without_memory([&] { as.text = why.text; });
}

}  // namespace

Server::Server(Host& host, const Settings& settings, const remote::Tls* tls, Shared& shared,
               User& user)
    : host_(host),
      settings_(settings),
      tls_(tls),
      user_(user),
      shared_(shared),
      sentinels_(settings.sentinels
                     ? std::make_unique<Sentinels>(settings.sentinels->addresses.size())
                     : nullptr),
      commands_(host, settings, tls, std::string(), *this, &shared.line, &shared.generations,
                sentinels_.get()),
      watch_(sentinels_
                 ? std::make_unique<SentinelWatch>(host, settings, tls, *sentinels_, commands_)
                 : nullptr),
      name_watch_(make_name_watch()),
      witness_(settings.replicas > 0 ? std::make_unique<Witness>(host, settings, tls) : nullptr),
      names_(settings.is_cluster()
                 ? std::make_unique<Listening>([this](bool begins, const std::string& name) {
                     return user_.says(*this, begins, name);
                   })
                 : nullptr) {}

Server::~Server() = default;

// A master that sentinels name may have a name as well.
std::unique_ptr<remote::NameWatch> Server::make_name_watch() {
  if (settings_.connector) return nullptr;
  if (!sentinels_ && !remote::NameWatch::is_for(settings_.address.host)) return nullptr;
  return std::make_unique<remote::NameWatch>(host_, where(), [this](const Failure& why) {
    commands_.mark_broken(why);
    if (Connection* const inbox = inbox_.load()) inbox->mark_broken(why);
  });
}

void Server::attach() {
  host_.attach(commands_);
  if (watch_) host_.attach(*watch_);
  if (name_watch_) host_.attach(*name_watch_);
  if (witness_) witness_->attach();
  if (inbox_owner_) host_.attach(*inbox_owner_);
  attached_.store(true);
}

// Whoever wants a connection from now on sees that it is not polled; or that was just before.
void Server::detach() noexcept {
  const auto is_wanted = [this] {
    return commands_.is_wanted() || (inbox_owner_ && inbox_owner_->is_wanted());
  };
  if (!attached_.load() || is_wanted()) return;
  attached_.store(false);
  if (is_wanted()) {
    attached_.store(true);
    return;
  }
  host_.detach(commands_);
  if (name_watch_) host_.detach(*name_watch_);
  if (inbox_owner_) host_.detach(*inbox_owner_);
}

void Server::open_inbox(const std::string& channel) {
  if (!inbox_owner_) {
    channel_ = channel;
    Connection::User& user = *this;
    inbox_owner_ = std::make_unique<Connection>(host_, settings_, tls_, channel_, user);
  }
  host_.attach(*inbox_owner_);  // may throw: the next call tries again
  inbox_.store(inbox_owner_.get());
  lead_inbox(true);
}

void Server::renew_inbox() {
  inbox_decided_.store(inbox_up_.load());
  lead_inbox(true);
}

std::list<Call> Server::end() noexcept {
  ended_.store(true);
  // Whatever was attached, also where that failed halfway.
  host_.detach(commands_);
  if (watch_) {
    host_.detach(*watch_);
    watch_->close();
  }
  if (name_watch_) {
    host_.detach(*name_watch_);
    name_watch_->end();
  }
  if (witness_) {
    witness_->detach();
    base::without_memory([&] { witness_->close(); });
  }
  if (inbox_owner_) {
    host_.detach(*inbox_owner_);
    static_cast<void>(inbox_owner_->close());
  }
  return commands_.close();
}

Failure Server::why_down() const {
  const std::lock_guard lock(mutex_);
  return why_down_;
}

Failure Server::why_deaf() const {
  const std::lock_guard lock(mutex_);
  return why_deaf_;
}

bool Server::say_to_inbox(std::string_view bytes) {
  Connection* const inbox = inbox_.load();
  return inbox != nullptr && inbox->send(bytes);
}

void Server::break_inbox(const Failure& why) noexcept {
  if (Connection* const inbox = inbox_.load()) inbox->mark_broken(why);
}

// An inbox that something on the way has forgotten looks like one to which nothing has come: the
// server passes its waiters over, or waits for each. As long as somebody waits it is asked for a
// word now and then, by what it is allowed to say anyway.
bool Server::begins_probe(Instant now) {
  constexpr std::chrono::seconds interval{1};
  constexpr std::chrono::seconds patience_of_a_probe{2};
  Connection* const inbox = inbox_.load();
  if (inbox == nullptr || !inbox_up_.load()) return false;
  const Instant before{Instant::duration(probed_.load())};
  if (awaits_probe_.load()) {
    if (now - before < patience_of_a_probe || !awaits_probe_.exchange(false)) return false;
    inbox->mark_broken(
        {Errc::unavailable, inbox->where() + ": the inbox connection does not answer"});
    return false;
  }
  if (now - before < interval || awaits_probe_.exchange(true)) return false;
  probed_.store(now.time_since_epoch().count());
  return true;
}

void Server::greeted(Connection& connection, const ServerFacts& facts) {
  if (&connection != &commands_) {
    const std::lock_guard lock(mutex_);
    inbox_run_id_ = facts.run_id;
    return;
  }
  if (const Failure why = user_.refuses(*this, facts.cluster)) return connection.drop(why);
  time_.forget();
  const Instant now = host_.clock()->now();
  if (facts.time != 0) time_.read(now, ServerTime(facts.time), now);
  const std::lock_guard lock(mutex_);
  const bool another = std::exchange(run_id_, facts.run_id) != facts.run_id;
  // In one step: an inbox that finds its own server here is read by that one's clock.
  if (another) clock_.store(shared_.clocks.fetch_add(1) + 1);
  why_down_ = Failure{};
}

Failure Server::started_anew() const {
  return {Errc::unavailable, where() + ": the server was restarted"};
}

void Server::connected(Connection& connection) {
  bool same = false;
  std::uint64_t clock = 0;
  {
    const std::lock_guard lock(mutex_);
    same = run_id_ == inbox_run_id_;
    clock = clock_.load();
    if (&connection != &commands_) why_deaf_ = Failure{};
  }
  if (&connection == &commands_) {
    Connection* const inbox = inbox_.load();
    if (inbox != nullptr && inbox->up() && !same) inbox->mark_broken(started_anew());
    if (watch_) watch_->rouse();
    if (name_watch_) name_watch_->begin(connection.host(), connection.endpoint());
    if (witness_) lead_witness();
    lead_inbox(true);
    user_.is_up(*this);
    return;
  }
  strayed_.store(!same);
  if (!same) {
    // It leads to a server that was started since: the other connection is a dead one. Unless that
    // leads elsewhere by now, and the server of before was only slow to greet.
    const bool elsewhere =
        sentinels_ && connection.endpoint().text() != commands_.endpoint().text();
    if (!elsewhere) commands_.mark_broken(started_anew());
    connection.drop(started_anew());
    return;
  }
  clock_of_inbox_.store(clock);
  inbox_up_.store(true);
  inbox_decided_.store(true);
  user_.listens(*this);
}

// Where it has come to another server it takes its pause, however often that costs the other
// connection, which comes up again at once: the way there may lead to two.
void Server::lead_inbox(bool now) {
  Connection* const inbox = inbox_.load();
  if (inbox != nullptr && !inbox->up() && commands_.up()) {
    inbox->want_at(commands_.endpoint(), now && !strayed_.load(), commands_.host());
  }
}

void Server::lead_witness() {
  std::string run_id;
  {
    const std::lock_guard lock(mutex_);
    run_id = run_id_;
  }
  witness_->follow(commands_.endpoint(), commands_.host(), run_id, clock_.load());
}

void Server::dropped(Connection& connection, const Failure& why, bool was_up,
                     std::list<Call> unanswered) {
  if (ended_.load()) return;
  const bool final = remote::is_final(why);
  if (&connection == &commands_) {
    {
      const std::lock_guard lock(mutex_);
      note(why_down_, why);
    }
    if (watch_) watch_->rouse();
    if (name_watch_) name_watch_->end();
    base::OneByOne each;
    each([&] { user_.lost_commands(*this, why, final, was_up, std::move(unanswered)); });
    // What was seen as granted there may be nowhere else: it is given back where it is found.
    if (witness_) each([&] { witness_->lose(why); });
    return each.finish();
  }
  // Whoever may publish can send rubbish to an inbox: that costs the connection, not the waiters,
  // who ask again.
  const bool for_good = final && why.code != Errc::protocol;
  inbox_up_.store(false);
  awaits_probe_.store(false);
  if (names_) names_->forget();
  if (for_good) {
    const std::lock_guard lock(mutex_);
    note(why_deaf_, why);
  }
  inbox_decided_.store(true);
  lead_inbox(false);  // whatever fails below: without one nobody joins a queue
  user_.lost_inbox(*this, why, for_good);
  // Whatever broke it may have broken the other one, which nobody may be looking at.
  if (was_up) commands_.suspect();
}

}  // namespace mortise::redis
