// SPDX-License-Identifier: MIT
// What a client is made of, what its backend tells it, and what its callers have it do.
#include "runtime/client_state.hpp"

#include "base/farewell.hpp"
#include "base/mutant.hpp"
#include "base/one_by_one.hpp"
#include "base/printable.hpp"
#include "base/random_id.hpp"
#include "base/span.hpp"
#include "runtime/asking.hpp"
#include "runtime/attempt.hpp"
#include "runtime/raise.hpp"
#include "runtime/slot.hpp"

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <exception>
#include <new>
#include <system_error>
#include <thread>

namespace mortise::runtime {
namespace {

// While so many callbacks of `lost()` block, the next loss is told only when one of them ends.
constexpr int most_loss_threads = 64;
// The observer is one object: who blocks in it has it called by a few threads, and misses what does
// not fit.
constexpr int most_observer_threads = 4;
constexpr std::size_t most_news = 10'000;

std::string host_and_pid() {
  std::array<char, 65> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {"?"};
  return base::printable(host.data()) + ":" + std::to_string(::getpid());
}

// 96 bits: a thousand million clients of one server find two alike once in a hundred thousand
// million cases, and each byte of an id is kept with each lock that Redis holds.
AttemptId new_client_id() {
  return {.client_high = base::random_bits() >> 32U, .client_low = base::random_bits()};
}

}  // namespace

ClientState::ClientState(std::unique_ptr<Backend> backend, ClientOptions options)
    : options_(std::move(options)),
      turn_{.time = options_.turn, .passes = options_.turn_handoffs},
      default_label_(host_and_pid()),
      clock_(options_.clock ? options_.clock : Clock::real()),
      real_time_(clock_ == Clock::real()),
      client_id_(new_client_id()),
      closing_(*this),
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
  open_requests_.each([](Operation& asked) { asked.poke(); });
}

void ClientState::attach(Source& source) {
  engine_.attach(source);
  background_.start();
}

void ClientState::hold_lost(const HoldId& hold, Failure why) {
  slots(hold.mode).each_of(hold.name,
                           [&](Slot& slot) { slot.keeper(hold.mode).taken_away(hold, why); });
}

void ClientState::hold_wanted(const HoldId& hold) {
  slots(hold.mode).each_of(hold.name, [&](Slot& slot) { slot.keeper(hold.mode).wanted(hold); });
}

Failure ClientState::closed_failure() const {
  return {Errc::closed, forked()
                            ? "this process was forked after the client was opened; open a new "
                              "client here"
                            : backend_->describe()};
}

std::shared_ptr<Slot> ClientState::slot(std::string_view name) { return locks_.slot(*this, name); }

std::shared_ptr<Slot> ClientState::permit(std::string_view name, Owner owner) {
  return permits_.slot(*this, name, owner);
}

std::shared_ptr<Slot> ClientState::key(std::string_view key) { return keys_.slot(*this, key); }

std::shared_ptr<const core::Terms> ClientState::terms(const LockOptions& options,
                                                      std::uint32_t permits) {
  const bool limited = options.max_hold < base::longest_span;
  return terms_.like({.lease = options.lease,
                      .renew = options.renew,
                      .max_hold = limited ? core::Nanos(options.max_hold) : core::Nanos::max(),
                      .label = options.label.empty() ? default_label_ : options.label,
                      .min_hold = options.min_hold,
                      .mode = permits > 0 ? Mode::permit : options.mode,
                      .permits = permits});
}

Failure ClientState::check(std::chrono::nanoseconds wait) {
  const auto check = std::make_shared<Check>(terms_.shortest_lease(), client_id_);
  return ask(*this, *check, wait, Errc::unavailable,
             [&](Backend& backend) { backend.check(check); });
}

Failure ClientState::why_unanswered(const Operation& asked) const {
  if (std::optional<Failure> trouble = asked.trouble()) return *std::move(trouble);
  return no_answer();
}

Failure ClientState::no_answer(Errc code) const {
  // The message of `in_doubt` begins with it.
  if (code == Errc::in_doubt) return {code, backend_->describe()};
  return {code, backend_->describe() + ": no answer in time"};
}

void ClientState::watch_for_suspend() noexcept {
  try {
    background_.start();
  } catch (const std::exception&) {
    // No thread or memory to be had: the caller sleeps on for the rest of its time after a suspend.
  }
}

Failure ClientState::prepare(const core::Terms& terms) {
  return terms.max_hold == core::Nanos::max() ? prepare_to_ask() : start_background();
}

// A backend without leases has no connection that somebody must look after.
Failure ClientState::prepare_to_ask() { return leases_ ? start_background() : Failure(); }

Failure ClientState::start_background() {
  try {
    background_.start();
  } catch (const std::system_error& error) {
    return failure_of(error);
  }
  return {};
}

AttemptId ClientState::new_attempt_id() noexcept {
  AttemptId id = client_id_;
  id.sequence = attempts_.fetch_add(1) + 1;
  return id;
}

void ClientState::wait(Operation& operation, std::uint32_t seen, std::chrono::nanoseconds at_most,
                       Instant now) {
  if (!backend_->wait(operation, seen, at_most)) engine_.wait(operation, seen, at_most, now);
}

bool ClientState::wait_done(Operation& operation, std::chrono::nanoseconds at_most, Instant began) {
  if (operation.done()) return true;
  // Real time, also under a clock that is moved by hand: these waits only bound the caller's.
  const Instant until = at_most >= never - began ? never : began + at_most;
  for (Instant now = began;; now = BootClock::now()) {
    const std::uint32_t seen = operation.signal();
    if (operation.done()) return true;
    if (now >= until) return false;
    wait(operation, seen, until - now, real_time_ ? now : clock_->now());
    if (operation.done()) return true;
  }
}

void ClientState::keep_requests_back() noexcept {
  try {
    engine_.keep_requests_back();
  } catch (const std::exception&) {
    // Out of memory: each leaves by itself.
  }
}

void ClientState::send_kept_back() noexcept {
  try {
    engine_.send_kept_back();
  } catch (const std::exception&) {
    // Out of memory, or the connection broke: as if they were lost on their way.
  }
}

void ClientState::send(const std::shared_ptr<Release>& release, Instant until) {
  try {
    backend_->release(release);
  } catch (const std::exception&) {
    // As if it was lost on its way: it is repeated.
  }
  if (until != Instant{} && !release->done()) background_.adopt(release, until);
}

void ClientState::undo(const Attempt& attempt) {
  const Acquisition::Request& request = attempt.request();
  const auto release = Release::undo(HoldId{.name = request.name,
                                            .attempt = request.attempt,
                                            .number = attempt.grant().number,
                                            .mode = request.mode});
  send(release, now() + request.lease);
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
  if (!attempt->is_answered()) each([&] { adopt(attempt); });
  each.finish();
}

void ClientState::adopt(const std::shared_ptr<Attempt>& attempt) {
  background_.adopt(attempt, attempt->gone_at(now()));
}

void ClientState::poke_waiters() noexcept {
  each_slot([](Slot& slot) { slot.poke_waiters(); });
}

void ClientState::end(Operation& operation) const noexcept {
  base::farewell(operation, [this] { return backend_->describe(); });
}

StoreId store_of(ClientState& client) {
  const Backend& backend = client.backend();
  return {.words = base::printable(backend.describe()), .identity = backend.identity()};
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
