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

void PostgresBackend::put_in_outbox(Flights& one) {
  const std::shared_ptr<Operation> operation = one.front().operation;
  const bool renews = one.front().kind == Call::Kind::renew;
  // A new request is sent at once, whatever failed before; a repeated one waits out the back-off.
  // The library paces renewals by their lease: each is worth a try of its own.
  const bool at_once = renews || !operation->in_trouble();
  Failure why;
  if (renews && pool_->all_stuck()) {
    {
      const std::lock_guard lock(mutex_);
      why = no_server_;
    }
    operation->trouble(std::move(why));
    return one.front().renewal().answered();  // unknown: repeated inside the lease
  }
  {
    const std::lock_guard lock(mutex_);
    why = no_server_;  // first: there may be no memory for it
    outbox_.add(std::move(one));
  }
  pool_->want(at_once);
  // One may have come up in between, and have looked into the outbox too early.
  if (pool_->up()) {
    submit_outbox();
  } else if (why) {
    operation->trouble(std::move(why));
  }
}

/// There was no memory to send this one call, or, where it is none, for what is to be done then:
/// soon there is, or the next connection has it.
void PostgresBackend::keep(Flights alone) noexcept {
  constexpr std::chrono::milliseconds soon{500};
  {
    const std::lock_guard lock(mutex_);
    if (!alone.empty()) outbox_.add(std::move(alone));
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

void PostgresBackend::submit_outbox() {
  Flights outbox;
  {
    const std::lock_guard lock(mutex_);
    outbox = outbox_.take();
  }
  resubmit_all(std::move(outbox));
}

// Each, whatever becomes of the one before: some of them nobody else would ask for again. So what
// there is no memory for is kept.
void PostgresBackend::resubmit_all(Flights calls) {
  Steps steps;
  while (!calls.empty()) {
    Flights alone;
    alone.splice(alone.begin(), calls, calls.begin());
    steps.make([&] {
      try {
        resubmit(alone);
      } catch (...) {
        keep(std::move(alone));
        throw;
      }
    });
  }
  steps.rethrow();
}

void PostgresBackend::resubmit(Flights& one) {
  Flight& flight = one.front();
  const bool only_frees = base::mutant("postgres.repeated_conclusion_only_frees");
  if (flight.kind == Call::Kind::conclude && only_frees) flight.kind = Call::Kind::release;
  const Instant now = clock_->now();
  if (is_over(flight, now)) return one.clear();
  flight.asked = now;
  submit(one);
}

void PostgresBackend::again_at(const Call& call, Instant when) {
  if (stopped_.load()) return;
  Flights one;
  one.emplace_back(call);
  if (later_.add(std::move(one), when)) host_->changed(later_);
}

// What found its row locked comes again soon, and then ever later.
void PostgresBackend::again_soon(const Call& call) {
  Call next = call;
  ++next.in_vain;
  again_at(next, clock_->now() + next_look(call.in_vain));
}

}  // namespace mortise::postgres
