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

// The customer's bank answers in a millisecond. Both runs wait for it. Without locks, another
// process reads the same ledger in this time, and charges the order too.
void ask_the_bank() { std::this_thread::sleep_for(1ms); }

}  // namespace

bool remembers(const mortise::Client& client) {
  return client.capabilities().once == mortise::Support::yes;
}

Cashier::Cashier(std::filesystem::path directory, const std::string& url, Figures& figures)
    : directory_(std::move(directory)),
      // The store keeps keys after a demonstration, so each demonstration has its own names.
      orders_("orders/" + directory_.parent_path().filename().string() + "/"),
      figures_(figures) {
  // Each process makes its own client.
  if (url.empty()) return;
  client_.emplace(url);
  remembers_ = remembers(*client_);
}

Outcome Cashier::charge(const Submission& submission, const Witness& witness) try {
  return remembers_ ? charge_once(submission, witness) : charge_and_look(submission, witness);
} catch (const Outdated&) {
  return Outcome::open;
} catch (const mortise::Error& error) {
  // It is not known whether the receipt is recorded. The next try finds out.
  if (error.errc() != mortise::Errc::in_doubt) throw;
  return Outcome::open;
}

// [once]
// The key of the order remembers its receipt. Later submissions get the receipt. They take no lock
// and do not read the ledger. Of several submissions at the same time, one runs, and the others
// wait for its receipt. If its process is killed, the next submission runs, knows that it is not
// the first, and looks into the ledger.
//
// This cannot deadlock: a thread that waits for a customer's lock holds only the key of its order,
// and a thread that holds a customer's lock waits for no other thread.
Outcome Cashier::charge_once(const Submission& submission, const Witness& witness) {
  const std::string what = submission.customer + ", " + std::to_string(submission.cents);
  mortise::Once order = client_->make_once(
      orders_ + submission.order, {.keep = 1h, .fingerprint = what, .wait = 60s, .lease = 2s});
  Outcome outcome = Outcome::replayed;
  const mortise::Outcome receipt = order.run([&](const mortise::Run& run) {
    outcome = book(submission, run.number() > 1, witness);
    return what + ", in run " + std::to_string(run.number());
  });
  return receipt.state() == mortise::KeyState::succeeded ? outcome : Outcome::open;
}
// [/once]

// Without Once, or without locks, each submission looks into the ledger. The lock of the order
// keeps its copies apart.
Outcome Cashier::charge_and_look(const Submission& submission, const Witness& witness) {
  const mortise::Guard order = take(orders_ + submission.order);
  return book(submission, true, witness);
}

// The customer's lock protects the two files of the account, because other orders of the same
// customer are charged at the same time.
Outcome Cashier::book(const Submission& submission, bool look, const Witness& witness) {
  const mortise::Guard customer = take("customers/" + submission.customer);
  Account account(directory_, submission.customer, customer.token());
  witness.completed(account.completed());
  if (look && account.charged(submission.order)) return Outcome::found;
  ask_the_bank();
  // The lease may have ended in the meantime. Nothing has been written yet, so another try is
  // harmless.
  if (customer.lost().stop_requested()) throw Outdated(submission.customer + ": the lock is lost");
  account.charge(submission.order, submission.cents, witness.between);
  return Outcome::charged;
}

// Returns an empty guard in the run without locks. The rest is the same.
mortise::Guard Cashier::take(const std::string& name) {
  if (!client_) return {};
  // With a short lease the names of a killed process are free again soon.
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
