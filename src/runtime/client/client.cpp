// SPDX-License-Identifier: MIT
// The public `Client`: checks options, turns failures into exceptions, and leaves the rest to
// `ClientState`.
#include <mortise/backend.hpp>
#include <mortise/client.hpp>

#include "base/span.hpp"
#include "core/terms.hpp"
#include "runtime/call/pending_check.hpp"
#include "runtime/call/pending_close.hpp"
#include "runtime/client/client_state.hpp"
#include "runtime/client/feature_support.hpp"
#include "runtime/client/raise.hpp"
#include "runtime/hold/slot.hpp"
#include "runtime/hold/snapshot.hpp"

#include <algorithm>
#include <cassert>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

namespace mortise {

using runtime::raise_if;

namespace {

/// @return what every member but close() works with. A client that was moved from has none.
runtime::ClientState& opened(const std::shared_ptr<runtime::ClientState>& state) noexcept {
  assert(state && "no member of a moved-from mortise::Client may be called");
  return *state;
}

}  // namespace

Client::Client(std::unique_ptr<Backend> backend, ClientOptions options) {
  if (!backend) throw Error({Errc::misconfigured, "the backend of the client is null"});
  raise_if(core::check(options));
  options.give_up = std::min<std::chrono::milliseconds>(options.give_up, base::longest_span);
  options.turn = std::min<std::chrono::milliseconds>(options.turn, base::longest_span);
  if (options.drive == Drive::program && backend->needs_waiting_threads()) {
    throw Error({Errc::unsupported, backend->describe().name +
                                        ": Drive::program: a waiter of this store needs a thread "
                                        "of its own; use Drive::threads"});
  }
  try {
    state_ = std::make_shared<runtime::ClientState>(std::move(backend), std::move(options));
    state_->start();
  } catch (const Error&) {
    throw;
  } catch (const std::system_error& error) {
    throw Error({Errc::exhausted, std::string("cannot open the client: ") + error.what()});
  }
}

Client::Client(Client&&) noexcept = default;

Client& Client::operator=(Client&& other) noexcept {
  if (this != &other) {
    end();
    state_ = std::move(other.state_);
  }
  return *this;
}

Client::~Client() { end(); }

void Client::end() noexcept {
  close();
  // No call of poll() runs these handlers any more.
  if (state_ && state_->loop() != nullptr && !state_->forked()) {
    state_->store().ready().ring_all();
    state_->loop()->look();
    state_->loop()->notify();
    // A callback may have forked.
    if (!state_->forked()) state_->loop()->delivery().drop();
  }
  runtime::drop(std::move(state_));
}

Lock Client::make_lock(std::string_view name, const LockOptions& options) {
  raise_if(core::check_name(name));
  raise_if(core::check(options));
  if (!opened(state_).alive()) throw Error(opened(state_).closed_failure());
  Backend& backend = opened(state_).store().backend();
  raise_if(runtime::check_support(backend, options.mode));
  if (options.min_hold > std::chrono::milliseconds(0) &&
      backend.describe().capabilities.min_hold != Support::yes) {
    throw Error({Errc::unsupported,
                 backend.describe().name +
                     ": LockOptions::min_hold: it frees a name as soon as the client is gone; use "
                     "Client::make_once()"});
  }
  return {opened(state_).slot(name), opened(state_).terms().of(options)};
}

ReadWriteLock Client::make_read_write_lock(std::string_view name, const LockOptions& options) {
  LockOptions reader = options;
  LockOptions writer = options;
  reader.mode = Mode::shared;
  writer.mode = Mode::exclusive;
  return {make_lock(name, reader), make_lock(name, writer)};
}

Semaphore Client::make_semaphore(std::string_view name, std::uint32_t permits,
                                 const LockOptions& options) {
  raise_if(core::check_semaphore(name));
  raise_if(core::check(permits, options));
  if (!opened(state_).alive()) throw Error(opened(state_).closed_failure());
  raise_if(runtime::check_support(opened(state_).store().backend(), Mode::permit));
  return {opened(state_).slot(name, Mode::permit, Owner::unique()),
          opened(state_).terms().of(options, permits)};
}

Once Client::make_once(std::string_view key, const OnceOptions& options) {
  raise_if(core::check_key(key));
  raise_if(core::check(options));
  if (!opened(state_).alive()) throw Error(opened(state_).closed_failure());
  raise_if(runtime::check_support(opened(state_).store().backend(), Mode::once));
  const LockOptions hold{.lease = options.lease, .label = options.label};
  return {opened(state_).slot(key, Mode::once), opened(state_).terms().of(hold),
          std::make_shared<const Memory>(Memory{
              .fingerprint = options.fingerprint, .repeat = options.repeat, .keep = options.keep}),
          options};
}

void Client::check(std::chrono::nanoseconds wait) { raise_if(opened(state_).check(wait)); }

void Client::check(std::chrono::nanoseconds wait, std::error_code& ec) {
  ec = opened(state_).check(wait).code;
}

Pending<Failure> Client::check_async(std::chrono::nanoseconds wait) {
  opened(state_);
  return Pending<Failure>(std::make_shared<runtime::PendingCheck>(state_, wait));
}

int Client::descriptor() const noexcept {
  const runtime::Loop* const loop = opened(state_).loop();
  return loop == nullptr || state_->forked() ? -1 : loop->descriptor();
}

std::size_t Client::poll(std::size_t at_most) noexcept {
  runtime::Loop* const loop = opened(state_).loop();
  return loop == nullptr || state_->forked() ? 0 : loop->poll(at_most);
}

Capabilities Client::capabilities() const {
  runtime::ClientState& state = opened(state_);
  return state.forked() ? Capabilities() : runtime::capabilities_of(state.store().backend());
}

Snapshot Client::snapshot() const {
  runtime::ClientState& state = opened(state_);
  return state.alive() ? runtime::snapshot_of(state.names()) : Snapshot();
}

std::function<Snapshot()> Client::snapshot_source() const {
  opened(state_);
  return [weak = std::weak_ptr(state_)] {
    const std::shared_ptr<runtime::ClientState> state = weak.lock();
    return state && state->alive() ? runtime::snapshot_of(state->names()) : Snapshot();
  };
}

void Client::close() noexcept {
  // A copy: a callback that runs during close() may destroy this very object.
  const std::shared_ptr<runtime::ClientState> state = state_;
  if (state) state->close();
}

bool Client::is_closed() const noexcept {
  runtime::ClientState& client = opened(state_);
  return client.forked() || client.closing().has_ended();
}

Pending<Closed> Client::close_async() {
  opened(state_);
  return Pending<Closed>(std::make_shared<runtime::PendingClose>(state_));
}

}  // namespace mortise
