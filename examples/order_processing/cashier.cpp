// SPDX-License-Identifier: MIT
#include "cashier.hpp"

#include "account.hpp"

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <utility>

namespace shop {
namespace {

using namespace std::chrono_literals;

// The customer's bank answers in a millisecond. Both runs wait for it alike; in the one without
// locks this is the time in which another process reads the same ledger and comes to the same
// conclusion.
void ask_the_bank() { std::this_thread::sleep_for(1ms); }

}  // namespace

bool remembers(const mortise::Client& client) {
  return client.capabilities().once == mortise::Support::yes;
}

Cashier::Cashier(std::filesystem::path directory, const std::string& url, Figures& figures)
    : directory_(std::move(directory)),
      // Keys outlive a demonstration: the next one has orders of its own.
      orders_("orders/" + directory_.parent_path().filename().string() + "/"),
      figures_(figures) {
  // Each process makes its own client: a client does not cross fork().
  if (url.empty()) return;
  client_.emplace(url);
  remembers_ = remembers(*client_);
}

Outcome Cashier::charge(const Submission& submission, const Witness& witness) try {
  return remembers_ ? charge_once(submission, witness) : charge_and_look(submission, witness);
} catch (const Outdated&) {
  return Outcome::open;
} catch (const mortise::Error& error) {
  // Nobody has said whether the receipt is recorded: whoever asks again is told.
  if (error.errc() != mortise::Errc::in_doubt) throw;
  return Outcome::open;
}

// [once]
// The order's key remembers: whoever comes after its receipt stands is told, takes no lock and
// reads no ledger. Of those who come before, one runs, and the others wait for its receipt. If it
// is killed, the next one runs, is told that it is not the first, and looks into the ledger.
//
// That cannot deadlock: whoever waits for a customer runs nothing but an order, and whoever holds a
// customer waits for nobody.
Outcome Cashier::charge_once(const Submission& submission, const Witness& witness) {
  const std::string what = submission.customer + ", " + std::to_string(submission.cents);
  mortise::Once order = client_->make_once(
      orders_ + submission.order, {.keep = 1h, .fingerprint = what, .wait = 60s, .lease = 2s});
  Outcome outcome = Outcome::told;
  const mortise::Outcome receipt = order.run([&](const mortise::Run& run) {
    outcome = book(submission, run.number() > 1, witness);
    return what + ", in run " + std::to_string(run.number());
  });
  return receipt.state() == mortise::KeyState::succeeded ? outcome : Outcome::open;
}
// [/once]

// Where nothing remembers, or nothing is locked: everybody looks into the ledger, under the lock of
// the order, which makes its copies queue up behind each other.
Outcome Cashier::charge_and_look(const Submission& submission, const Witness& witness) {
  const mortise::Guard order = take(orders_ + submission.order);
  return book(submission, true, witness);
}

// The customer's lock protects the two files of the account: other orders of the same customer are
// charged at the same time.
Outcome Cashier::book(const Submission& submission, bool look, const Witness& witness) {
  const mortise::Guard customer = take("customers/" + submission.customer);
  Account account(directory_, submission.customer, customer.token());
  witness.completed(account.completed());
  if (look && account.charged(submission.order)) return Outcome::found;
  ask_the_bank();
  // A lease may have ended meanwhile; then nothing was done yet, and starting over is harmless.
  if (customer.lost().stop_requested()) throw Outdated(submission.customer + ": the lock is lost");
  account.charge(submission.order, submission.cents, witness.between);
  return Outcome::charged;
}

// An empty guard where the run has no locks: everything else is the same.
mortise::Guard Cashier::take(const std::string& name) {
  if (!client_) return {};
  // Short leases, where there are leases, so that what a killed process held is free again soon.
  mortise::Lock lock = client_->make_lock(name, {.lease = 2s});
  const std::int64_t asked = now_ns();
  mortise::Guard guard(lock, {.wait = 60s});
  if (!guard) {
    const std::string by = guard.holder() ? " (held by " + guard.holder()->label + ")" : "";
    throw std::runtime_error(name + ": " + guard.error_text() + by);
  }
  note_wait(now_ns() - asked);
  return guard;
}

void Cashier::note_wait(std::int64_t took) {
  if (took > std::chrono::nanoseconds(1ms).count()) ++figures_.waits;
  std::int64_t longest = figures_.longest_wait;
  while (took > longest && !figures_.longest_wait.compare_exchange_weak(longest, took)) {
  }
}

}  // namespace shop
