// SPDX-License-Identifier: MIT
// The client's table of names, its threads, and the order in which closing ends them.
#include "runtime/client_state.hpp"

#include "base/farewell.hpp"
#include "base/mutant.hpp"
#include "base/one_by_one.hpp"
#include "base/random_id.hpp"
#include "runtime/slot.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <exception>
#include <new>
#include <system_error>
#include <thread>

namespace mortise::runtime {
namespace {

constexpr std::chrono::milliseconds patience_with_callers{100};

// While so many callbacks of `lost()` block, the next loss is told only when one of them ends.
constexpr int most_loss_threads = 64;
// The observer is one object: who blocks in it has it called by a few threads, and misses what does
// not fit.
constexpr int most_observer_threads = 4;
constexpr std::size_t most_news = 10'000;

std::string host_and_pid() {
  std::array<char, 65> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {"?"};
  return std::string(host.data()) + ":" + std::to_string(::getpid());
}

}  // namespace

thread_local int ClientState::Inside::on_this_thread = 0;

ClientState::ClientState(std::unique_ptr<Backend> backend, ClientOptions options)
    : options_(std::move(options)),
      turn_{.time = options_.turn, .passes = options_.turn_handoffs},
      default_label_(host_and_pid()),
      clock_(options_.clock ? options_.clock : Clock::real()),
      client_id_{.client_high = base::random_bits(), .client_low = base::random_bits()},
      engine_(clock_),
      backend_(std::move(backend)),
      losses_(most_loss_threads),
      news_(most_observer_threads, most_news),
      background_(
          engine_, *backend_, *clock_, [this] { look_at_the_clock(); },
          [this] { return losses_.serve(); }) {
  const Capabilities capabilities = backend_->capabilities();
  margin_ = capabilities.safety_margin;
  leases_ = capabilities.leases != Support::no;
}

ClientState::~ClientState() = default;

void ClientState::start() {
  clock_steps_ = clock_->on_step([weak = weak_from_this()] {
    const std::shared_ptr<ClientState> self = weak.lock();
    if (self && !self->forked()) self->look_at_the_clock();
  });
  backend_->start(*this);
}

// The kernel does not count a suspend in the sleep of a thread: whoever sleeps has to look.
void ClientState::look_at_the_clock() noexcept {
  if (base::mutant("core.suspend_goes_unnoticed")) return;
  engine_.nudge_all();
  poke_waiters();
  if (base::mutant("core.open_requests_sleep_on_after_a_suspend")) return;
  each_open_request([](Operation& asked) { asked.poke(); });
}

void ClientState::attach(Source& source) {
  engine_.attach(source);
  background_.start();
}

void ClientState::hold_lost(const HoldId& hold, Failure why) {
  std::shared_ptr<Slot> slot;
  {
    const std::lock_guard lock(table_mutex_);
    const auto found = table_.find(hold.name);
    if (found != table_.end()) slot = found->second.lock();
  }
  if (slot) slot->keeper().taken_away(hold, why);
}

void ClientState::hold_wanted(const HoldId& hold) {
  std::shared_ptr<Slot> slot;
  {
    const std::lock_guard lock(table_mutex_);
    const auto found = table_.find(hold.name);
    if (found != table_.end()) slot = found->second.lock();
  }
  if (slot) slot->keeper().wanted(hold);
}

Failure ClientState::closed_failure() const {
  return {Errc::closed, forked() ? "this process is a fork of the one that opened the client"
                                 : backend_->describe()};
}

Failure ClientState::check(std::chrono::nanoseconds wait) {
  if (!alive()) return closed_failure();
  const auto check = std::make_shared<Check>();
  const OpenRequest open_request(*this, *check);
  if (!check->done()) backend_->check(check);
  if (wait_done(*check, wait)) return check->failure();
  if (const std::optional<Failure> trouble = check->trouble()) return *trouble;
  return {Errc::unavailable, backend_->describe() + ": no answer in time"};
}

void ClientState::watch_for_suspend() noexcept {
  try {
    background_.start();
  } catch (const std::system_error&) {
    // No thread to be had: the caller sleeps on for the rest of its time after a suspend.
  }
}

Failure ClientState::prepare(const core::Terms& terms) {
  if (!leases_ && terms.max_hold == core::Nanos::max()) return {};
  try {
    background_.start();
  } catch (const std::system_error& error) {
    return {Errc::exhausted, std::string("starting the background thread: ") + error.what()};
  }
  return {};
}

std::shared_ptr<Slot> ClientState::slot(std::string_view name) {
  std::string key(name);
  const std::lock_guard lock(table_mutex_);
  std::weak_ptr<Slot>& entry = table_[key];
  std::shared_ptr<Slot> slot = entry.lock();
  if (!slot) {
    slot = std::make_shared<Slot>(shared_from_this(), std::move(key));
    slots_.push_back(slot->listed);
    entry = slot;
  }
  return slot;
}

void ClientState::forget(Slot& slot) noexcept {
  const std::lock_guard lock(table_mutex_);
  slots_.remove(slot.listed);
  const auto found = table_.find(slot.name());
  // A successor of the same name may have taken the place already.
  if (found != table_.end() && found->second.expired()) table_.erase(found);
}

AttemptId ClientState::new_attempt_id() noexcept {
  AttemptId id = client_id_;
  id.sequence = attempts_.fetch_add(1) + 1;
  return id;
}

void ClientState::wait(Operation& operation, std::uint32_t seen, std::chrono::nanoseconds at_most) {
  if (!backend_->wait(operation, seen, at_most)) engine_.wait(operation, seen, at_most);
}

bool ClientState::wait_done(Operation& operation, std::chrono::nanoseconds at_most) {
  if (operation.done()) return true;
  // Real time, also under a clock that is moved by hand: these waits only bound the caller's.
  const Instant began = BootClock::now();
  const Instant until = at_most >= never - began ? never : began + at_most;
  for (Instant now = began;; now = BootClock::now()) {
    const std::uint32_t seen = operation.signal();
    if (operation.done()) return true;
    if (now >= until) return false;
    wait(operation, seen, until - now);
  }
}

void ClientState::send(const std::shared_ptr<Release>& release) {
  try {
    backend_->release(release);
  } catch (const std::exception&) {
    // As if it was lost on its way: it is repeated.
  }
}

void ClientState::undo(const Attempt& attempt) {
  const Acquisition::Request& request = attempt.request();
  const auto release = std::make_shared<Release>(HoldId{.name = request.name,
                                                        .attempt = request.attempt,
                                                        .number = attempt.grant().number,
                                                        .mode = request.mode});
  send(release);
  if (!release->done()) background_.adopt(release, now() + request.lease);
}

void ClientState::abandon(const std::shared_ptr<Attempt>& attempt) {
  if (!attempt->abandon()) {
    if (attempt->grant().number != 0) undo(*attempt);
    return;
  }
  // Where there is no memory to take it back it is tried again; and one that was answered just now
  // is not over before what it was granted is given back, which close() has to wait for.
  base::OneByOne each;
  each([&] { backend_->cancel(attempt); });
  if (!attempt->settled()) each([&] { background_.adopt(attempt); });
  each.finish();
}

// @param slot where to go on, kept by the caller; null = from the first one
std::shared_ptr<Slot> ClientState::slot_after(const Slot* slot) noexcept {
  const std::lock_guard lock(table_mutex_);
  const ListedSlot* next = slot == nullptr ? slots_.first() : slot->listed.after;
  for (; next != nullptr; next = next->after) {
    if (std::shared_ptr<Slot> kept = next->slot->weak_from_this().lock()) return kept;
  }
  return nullptr;
}

// Needs no memory: where there is none, whoever is not visited may wait for ever.
template <class Visit>
void ClientState::each_slot(Visit visit) {
  for (auto slot = slot_after(nullptr); slot; slot = slot_after(slot.get())) visit(*slot);
}

template <class Visit>
void ClientState::each_open_request(Visit visit) {
  const std::lock_guard lock(table_mutex_);
  for (OpenRequest* each = open_requests_.first(); each != nullptr; each = each->after) {
    visit(each->operation);
  }
}

void ClientState::poke_waiters() noexcept {
  each_slot([](Slot& slot) { slot.poke_waiters(); });
}

void ClientState::release_holds(Instant until) noexcept {
  std::vector<std::shared_ptr<Release>> releases;
  each_slot([&](Slot& slot) {
    try {
      if (std::shared_ptr<Release> release = slot.keeper().close()) releases.push_back(release);
    } catch (const std::exception&) {
      // Out of memory: what was not sent ends with its lease, which nobody renews any more.
    }
  });
  for (const std::shared_ptr<Release>& release : releases) {
    try {
      if (!wait_done(*release, until - BootClock::now())) break;
    } catch (const std::exception&) {
      // Out of memory for what this thread read for everybody: a matter of that connection.
    }
  }
}

ClientState::OpenRequest::OpenRequest(ClientState& state, Operation& asked) noexcept
    : client(state), operation(asked) {
  {
    const std::lock_guard lock(client.table_mutex_);
    client.open_requests_.push_back(*this);
  }
  // Listed first, then looked: close() sets its mark first, and then ends those in the list.
  if (!client.alive()) client.end(operation);
}

ClientState::OpenRequest::~OpenRequest() {
  const std::lock_guard lock(client.table_mutex_);
  client.open_requests_.remove(*this);
}

void ClientState::end(Operation& operation) const noexcept {
  base::farewell(operation, [this] { return backend_->describe(); });
}

// What the backend was told, or asked, when it had ended already it may never answer.
void ClientState::end_open_requests() noexcept {
  each_open_request([this](Operation& asked) { end(asked); });
}

void ClientState::close() noexcept {
  if (forked()) return;
  if (!closed_.exchange(true)) {
    close_once();
    const std::lock_guard lock(close_mutex_);
    close_has_ended_ = true;
    close_ended_.notify_all();
    return;
  }
  // Another thread closes. What runs inside of a callback must not wait for it, since it waits for
  // the callbacks.
  if (Notifier::inside() || Inside::is_caller()) return;
  std::unique_lock lock(close_mutex_);
  close_ended_.wait(lock, [this] { return close_has_ended_; });
}

void ClientState::close_once() noexcept {
  const Instant until = BootClock::now() + core::command_timeout(core::longest_lease);
  poke_waiters();
  if (!base::mutant("core.close_leaves_the_holds")) release_holds(until);
  // Not for long where it may be one of them, in an observer, that closes the client.
  const Instant for_askers = Inside::is_caller() ? BootClock::now() + patience_with_callers : until;
  // What callers free or have left to be undone must not end with the connection. In this order:
  // whoever frees a hold may give a waiter the attempt that was sent with the release, and a waiter
  // leaves to the background what it gives up; each before it is no longer counted.
  const auto pending = [this, for_askers] {
    poke_waiters();
    return freeing_.load() > 0 || (asking_.load() > 0 && BootClock::now() < for_askers) ||
           !background_.idle();
  };
  while (pending() && BootClock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  // The backend may have something to give back, which takes as long again where the server stands
  // still. Callbacks run meanwhile: those that block, of either kind, cost no time on top of that.
  const auto told = std::chrono::steady_clock::now() + Notifier::patience_at_close;
  background_.stop();
  backend_->stop();
  end_open_requests();
  losses_.close(told);
  news_.close(told);
}

namespace {

template <class Object>
void drop_or_keep(std::shared_ptr<Object> object, const ClientState& client) noexcept {
  if (!client.forked()) return;
  // Never destroyed, and without an allocation, which could fail: a count that nobody gives back.
  alignas(std::shared_ptr<Object>) std::array<std::byte, sizeof(object)> leaked{};
  ::new (static_cast<void*>(leaked.data())) std::shared_ptr<Object>(std::move(object));
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
