// SPDX-License-Identifier: MIT
// How the connections of one server come and go together.
#include "redis/connection/server.hpp"

#include "base/farewell.hpp"
#include "base/one_by_one.hpp"
#include "redis/store/requests.hpp"
#include "remote/outbox.hpp"

#include <utility>

namespace mortise::redis {

Server::Server(Host& host, const Settings& settings, const remote::Tls* tls, Shared& shared,
               User& user)
    : host_(host),
      user_(user),
      identity_(settings.address, shared.clocks),
      sentinels_(settings.sentinels
                     ? std::make_unique<Sentinels>(settings.sentinels->addresses.size())
                     : nullptr),
      commands_(host, settings, tls, std::string(), *this, &shared.line, &shared.generations,
                sentinels_.get()),
      inbox_(
          *this, host, user,
          [&host, &settings, tls](const std::string& channel, Connection::User& its_user) {
            return std::make_unique<Connection>(host, settings, tls, channel, its_user);
          },
          settings.is_cluster()
              ? std::make_unique<Listening>([this](bool begins, const std::string& name) {
                  return inbox_.say([&](std::string& bytes) {
                    begins ? Requests::subscribe_to(bytes, inbox_.channel(), name)
                           : Requests::unsubscribe_from(bytes, inbox_.channel(), name);
                  });
                })
              : nullptr),
      watch_(host, settings, tls, sentinels_.get(), commands_,
             [this](const Failure& why) {
               commands_.mark_broken(why);
               inbox_.mark_broken(why);
             }),
      witness_(settings.replicas > 0 ? std::make_unique<Witness>(host, settings, tls) : nullptr) {}

Server::~Server() = default;

void Server::attach() {
  host_.attach(commands_);
  watch_.attach();
  if (witness_) witness_->attach();
  inbox_.attach();
  state_.store(State::attached);
}

// A caller that wants a connection from now on sees that it is not polled; or that was just before.
void Server::detach() noexcept {
  const auto is_wanted = [this] { return commands_.is_wanted() || inbox_.is_wanted(); };
  if (!is_attached() || is_wanted()) return;
  state_.store(State::detached);
  if (is_wanted()) {
    state_.store(State::attached);
    return;
  }
  host_.detach(commands_);
  watch_.rest();
  inbox_.detach();
}

std::list<Call> Server::end() noexcept {
  state_.store(State::ended);
  // Even if attaching a source has failed halfway.
  host_.detach(commands_);
  watch_.close();
  if (witness_) {
    witness_->detach();
    base::without_memory([&] { witness_->close(); });
  }
  inbox_.close();
  return commands_.close();
}

void Server::greeted(Connection& connection, const ServerFacts& facts) {
  if (const Failure why = user_.refuses(*this, facts.cluster)) return connection.drop(why);
  const Instant now = host_.clock()->now();
  identity_.meet(facts.run_id, remote::ServerTime(facts.time), now, now);
  why_down_.clear();
}

Failure Server::started_anew() const {
  return {Errc::unavailable, where() + ": the server was restarted"};
}

void Server::connected(Connection& connection) {
  inbox_.break_if_strayed();
  watch_.begin(connection.destination());
  if (witness_) lead_witness();
  inbox_.follow();
  user_.is_up(*this);
}

void Server::lead_witness() {
  const remote::ServerIdentity::Start start = identity_.start();
  const Destination& at = commands_.destination();
  witness_->follow(at.endpoint(), at.host(), start.run_id, start.clock);
}

void Server::dropped(Connection& /*connection*/, const Failure& why, bool was_up,
                     std::list<Call> unanswered) {
  if (has_ended()) return;
  why_down_.note(why);
  watch_.end();
  // The sentinels may name another master by now. The next connection for commands leads there, and
  // the inbox follows it. Without that connection the inbox of an idle client would stay here.
  if (sentinels_ && inbox_.is_up()) commands_.want(false);
  base::OneByOne each;
  each([&] {
    user_.lost_commands(*this, why, remote::is_final(why), was_up, std::move(unanswered));
  });
  // No other server may have the grants that were seen there. The client gives them back if it
  // finds them.
  if (witness_) each([&] { witness_->lose(why); });
  each.finish();
}

}  // namespace mortise::redis
