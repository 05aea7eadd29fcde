// SPDX-License-Identifier: MIT
// Makes the parts of a client, and receives the reports of its backend.
#include "runtime/client/client_state.hpp"

#include "base/leak.hpp"
#include "base/mutant.hpp"
#include "base/printable.hpp"
#include "runtime/call/asking.hpp"
#include "runtime/hold/slot.hpp"

#include <unistd.h>

#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <utility>

namespace mortise::runtime {
namespace {

std::string host_and_pid() {
  std::array<char, 65> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {"?"};
  return base::printable(host.data()) + ":" + std::to_string(::getpid());
}

// A thread that drives the loop looks for itself before it sleeps.
std::function<void()> waker_of(StoreAccess& store) {
  return [&store] {
    if (!store.ready().is_driven_here()) store.engine().interrupt();
  };
}

}  // namespace

ClientState::ClientState(std::unique_ptr<Backend> backend, ClientOptions options)
    : options_(std::move(options)),
      turn_{.time = options_.turn, .passes = options_.turn_handoffs},
      closing_(*this),
      terms_(host_and_pid()),
      announcements_(options_.observer,
                     options_.drive == Drive::program ? waker_of(store_) : nullptr),
      store_(
          std::move(backend), options_.clock ? options_.clock : Clock::real(),
          [this] { look_at_the_clock(); }, [this] { return announcements_.serve(); },
          options_.drive == Drive::threads) {
  if (options_.drive == Drive::program) loop_ = std::make_unique<Loop>(*this);
}

ClientState::~ClientState() = default;

void ClientState::start() {
  clock_steps_ = clock()->on_step([weak = weak_from_this()] {
    const std::shared_ptr<ClientState> self = weak.lock();
    if (self && !self->forked()) self->look_at_the_clock();
  });
  store_.backend().start(*this);
}

// The kernel does not count a suspend in the sleep of a thread: whoever sleeps has to look.
void ClientState::look_at_the_clock() noexcept {
  if (base::mutant("core.suspend_goes_unnoticed")) return;
  store_.engine().nudge_all();
  names_.poke_waiters();
  if (base::mutant("core.open_requests_sleep_on_after_a_suspend")) return;
  store_.open_requests().poke();
}

void ClientState::attach(Source& source) {
  store_.engine().attach(source);
  store_.background().start();
}

void ClientState::hold_lost(const HoldId& hold, Failure why) {
  names_.table(hold.mode).each_of(
      hold.name, [&](Slot& slot) { slot.keeper(hold.mode).taken_away(hold, why); });
}

void ClientState::hold_wanted(const HoldId& hold) {
  names_.table(hold.mode).each_of(hold.name,
                                  [&](Slot& slot) { slot.keeper(hold.mode).wanted(hold); });
}

Failure ClientState::closed_failure() const {
  return {Errc::closed, forked()
                            ? "this process was forked after the client was opened; open a new "
                              "client here"
                            : store_.name()};
}

std::shared_ptr<Slot> ClientState::slot(std::string_view name, Mode mode, Owner owner) {
  return names_.table(mode).slot(*this, name, owner);
}

StoreId ClientState::store_id() const { return forked() ? StoreId() : store_.id(); }

std::shared_ptr<Check> ClientState::new_check() {
  return std::make_shared<Check>(terms_.shortest_lease(), numbers_.client());
}

Failure ClientState::check(std::chrono::nanoseconds wait) {
  // Before the mutex of the terms.
  if (!alive()) return closed_failure();
  const std::shared_ptr<Check> check = new_check();
  return ask(*this, *check, wait, Errc::unavailable,
             [&](Backend& backend) { backend.check(check); });
}

namespace {

template <class Object>
void drop_or_keep(std::shared_ptr<Object> object, const ClientState& client) noexcept {
  if (client.forked()) base::leak(std::move(object));
}

}  // namespace

void drop(std::shared_ptr<ClientState> client) noexcept {
  if (!client) return;
  const ClientState& state = *client;
  drop_or_keep(std::move(client), state);
}

void drop(std::shared_ptr<Slot> slot) noexcept {
  if (!slot) return;
  const ClientState& state = slot->client();
  drop_or_keep(std::move(slot), state);
}

}  // namespace mortise::runtime
