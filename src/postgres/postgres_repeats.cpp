// SPDX-License-Identifier: MIT
// What waits for a connection, and what is asked once more: at once, or at its time.
#include "base/mutant.hpp"
#include "base/random_id.hpp"
#include "postgres/postgres_backend.hpp"
#include "postgres/steps.hpp"

#include <algorithm>
#include <utility>

namespace mortise::postgres {
namespace {

// What found a row locked: how soon to look again, doubled each time.
constexpr std::chrono::milliseconds first_look{2};

}  // namespace

std::chrono::nanoseconds next_look(unsigned in_vain) {
  const auto longest =
      std::min<std::chrono::nanoseconds>(longest_look, first_look * (1U << std::min(in_vain, 10U)));
  if (base::mutant("postgres.look_in_step")) return longest;
  // In the upper half, or those who met at the row meet there again.
  const double part = 0.5 + base::SplitMix(base::random_bits()).unit() / 2;
  return std::chrono::nanoseconds(
      static_cast<std::int64_t>(part * static_cast<double>(longest.count())));
}

void PostgresBackend::put_in_outbox(Call call) {
  const std::shared_ptr<Operation> operation = call.operation;
  // A new request is sent at once, whatever failed before; a repeated one waits out the back-off.
  // The library paces renewals by their lease: each is worth a try of its own.
  const bool at_once = call.kind == Call::Kind::renew || !operation->in_trouble();
  const bool in_vain = call.kind == Call::Kind::renew && pool_->all_stuck();
  Failure why;
  {
    const std::lock_guard lock(mutex_);
    if (in_vain) why = no_server_;
  }
  if (in_vain) {
    operation->trouble(std::move(why));
    return call.renewal().answered();  // unknown: repeated inside the lease
  }
  {
    Waiting alone;
    alone.push_back(std::move(call));
    const std::lock_guard lock(mutex_);
    outbox_.add(std::move(alone));
    why = no_server_;
  }
  pool_->want(at_once);
  // One may have come up in between, and have looked into the outbox too early.
  if (pool_->up()) {
    submit_outbox();
  } else if (why) {
    operation->trouble(std::move(why));
  }
}

/// There was no memory to send this one call: soon there is, or the next connection has it.
void PostgresBackend::keep(Waiting alone) {
  constexpr std::chrono::milliseconds soon{500};
  {
    const std::lock_guard lock(mutex_);
    outbox_.add(std::move(alone));
    if (stopped_.load()) return;
    attach_later_locked();
  }
  later_.tidy_by(clock_->now() + soon);
  host_->changed(later_);
}

bool PostgresBackend::is_over(const Call& call, Instant now) const {
  if (call.kind == Call::Kind::census) return true;  // another one will be taken
  if (call.kind == Call::Kind::wake) return false;
  if (call.kind == Call::Kind::acquire) {
    if (withdrawn(call)) return true;
  } else if (call.kind != Call::Kind::cancel && call.operation->done()) {
    // What was cancelled may have failed for its caller, and still be somewhere at the server.
    return true;
  }
  // Where we hold the last reference no caller waits. Some are our own: an orphaned grant to
  // release.
  const bool takes_back = call.kind == Call::Kind::cancel;
  const auto lease = takes_back ? call.acquisition().request().lease : call.lease;
  return call.operation.use_count() == 1 && remote::was_tried_enough(call.since, lease, now);
}

/// @return whether no library is behind it, to repeat it.
bool PostgresBackend::is_ours(const Call& call) {
  switch (call.kind) {
    case Call::Kind::force: return true;
    case Call::Kind::release: return call.grant_only;
    // Its caller was told otherwise already: see take_back().
    case Call::Kind::cancel: return call.operation->done() && call.operation->failure();
    default: return false;
  }
}

void PostgresBackend::submit_outbox() {
  Waiting outbox;
  {
    const std::lock_guard lock(mutex_);
    outbox = outbox_.take();
  }
  Steps steps;
  while (!outbox.empty()) {
    Waiting alone;
    alone.splice(alone.begin(), outbox, outbox.begin());
    bool done = false;
    steps.make([&] {
      resubmit(alone.front());
      done = true;
    });
    if (done) continue;
    steps.make([&] { keep(std::move(alone)); });  // or what is behind it would be lost
  }
  steps.rethrow();
}

// Each, whatever becomes of the one before: some of them nobody else would ask for again.
void PostgresBackend::resubmit_all(std::vector<Call> calls) {
  Steps steps;
  for (Call& call : calls) steps.make([&] { resubmit(std::move(call)); });
  steps.rethrow();
}

void PostgresBackend::resubmit(Call call) {
  const Instant now = clock_->now();
  if (is_over(call, now)) {
    if (call.kind == Call::Kind::acquire) attempts_.not_wanted(*call.attempt());
    return;
  }
  call.asked = now;
  submit(std::move(call));
}

// It is not attached where there was no memory for that: the next one tries again.
void PostgresBackend::attach_later_locked() {
  if (later_attached_) return;
  host_->attach(later_);
  later_attached_ = true;
}

void PostgresBackend::again_at(const Call& call, Instant when) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_.load()) return;
    attach_later_locked();
  }
  if (later_.add(call, when)) host_->changed(later_);
}

// What found its row locked comes again soon, and then ever later.
void PostgresBackend::again_soon(const Call& call) {
  Call next = call;
  ++next.in_vain;
  again_at(next, clock_->now() + next_look(call.in_vain));
}

}  // namespace mortise::postgres
