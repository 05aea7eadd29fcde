// SPDX-License-Identifier: MIT
#include "redis/connection/connection.hpp"

#include "base/random_id.hpp"

#include <utility>

namespace mortise::redis {
namespace {

using State = remote::Link::State;

/// The reader's role. No thread waits for it.
class Role {
 public:
  explicit Role(std::atomic<bool>& taken) noexcept
      : taken_(taken), mine_(!taken.exchange(true, std::memory_order_acquire)) {}
  Role(const Role&) = delete;
  Role& operator=(const Role&) = delete;
  ~Role() {
    if (mine_) taken_.store(false, std::memory_order_release);
  }
  explicit operator bool() const noexcept { return mine_; }

 private:
  std::atomic<bool>& taken_;
  const bool mine_;
};

}  // namespace

Connection::Connection(Host& host, const Settings& settings, const remote::Tls* tls,
                       std::string inbox, User& user, std::mutex* mutex,
                       std::atomic<std::uint64_t>* generations, Sentinels* sentinels)
    : user_(user),
      destination_(settings.where()),
      link_(base::random_bits()),
      pipeline_([this](const Call& call) { return admits(call); }, *host.clock(), link_, mutex,
                generations),
      life_(*this, user, host, settings, tls, std::move(inbox),
            {destination_, link_, pipeline_, descriptor_}, sentinels) {}

Connection::~Connection() = default;

void Connection::want(bool now) {
  if (link_.want(now)) user_.changed(*this);
}

void Connection::want_at(const base::Endpoint& endpoint, bool now, const std::string& host) {
  destination_.lead_to(Destination::Exact{endpoint, host});
  want(now);
}

short Connection::interest() const noexcept {
  switch (link_.state()) {
    case State::idle: return 0;
    case State::resolving:
    case State::connecting: return life_.approach().interest();
    case State::up:
      if (life_.approach().is_plain()) {
        return static_cast<short>(POLLIN | (pipeline_.bytes().is_blocked() ? POLLOUT : 0));
      }
      break;
    case State::greeting: break;
  }
  return pipeline_.interest();
}

bool Connection::linger() {
  if (!up() || pipeline_.bytes().is_blocked()) return false;
  const Role role(is_read_);
  return role && life_.linger();
}

void Connection::ready(short /*events*/, Instant now) {
  // A thread that lingers will see what there is.
  const Role role(is_read_);
  if (role) life_.advance(now);
}

void Connection::suspect() {
  link_.suspect();
  user_.changed(*this);
}

void Connection::mark_broken(const Failure& why) noexcept {
  if (pipeline_.mark_broken(why, false)) user_.changed(*this);
}

void Connection::abandon(const Failure& why) noexcept {
  link_.lead_elsewhere();
  if (pipeline_.mark_broken(why, true)) user_.changed(*this);
}

void Connection::send_gathered() {
  pipeline_.bytes().end_gathering();
  if (pipeline_.write_rest()) user_.changed(*this);
}

Connection::Sent Connection::send(Call* call, std::string_view bytes) {
  const Pipeline::Sending sending = pipeline_.send(call, bytes);
  if (sending.is_stopped) user_.changed(*this);
  return sending.sent;
}

bool Connection::admits(const Call& call) {
  if (!user_.admits(call)) return false;
  if (call.written.whole) loaded_.sent(call.written.script, call.written.generation);
  return true;
}

}  // namespace mortise::redis
