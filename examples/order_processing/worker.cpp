// SPDX-License-Identifier: MIT
#include "worker.hpp"

#include "account.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <thread>

namespace shop {
namespace {

using namespace std::chrono_literals;

// The customer's bank answers in a millisecond. Both runs wait for it alike; in the one without
// locks this is the time in which another process reads the same ledger and comes to the same
// conclusion.
void ask_the_bank() { std::this_thread::sleep_for(1ms); }

void tell(Message message) {
  const char byte = static_cast<char>(message);
  if (::write(message_descriptor, &byte, 1) != 1) {
    throw std::runtime_error("the supervisor is gone");
  }
}

}  // namespace

Worker::Worker(const Options& options)
    : options_(options),
      role_(options.worker.value()),
      submissions_(read_submissions(options.orders)),
      tasks_(deal(submissions_, options.processes).at(role_.process)),
      board_(role_.directory + "/board", submissions_.size(), Board::How::join),
      figures_(board_->figures.at(role_.process)) {
  // Each process makes its own client: a client does not cross fork().
  if (role_.locks) client_.emplace(options.url);
}

int Worker::run() {
  tell(Message::ready);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < options_.threads; ++i) threads.emplace_back([this] { work(); });
  }
  if (!failed_) return 0;
  std::cerr << "process " << role_.process + 1 << ": " << failure_ << "\n";
  return 1;
}

void Worker::work() {
  try {
    while (const Task* task = next_task()) {
      wait_for_arrival(*task);
      Outcome outcome = Outcome::open;
      while ((outcome = process(*task)) == Outcome::open) ++figures_.started_over;
      ++(outcome == Outcome::charged ? figures_.charged : figures_.duplicates);
      board_.outcome(task->submission) = outcome;
    }
  } catch (const std::exception& e) {
    fail(e.what());
  }
}

// The one step that matters: an order is charged exactly once, whoever else tries at the same
// moment.
//
// Two locks, always the order's first and the customer's second. That cannot deadlock: whoever
// waits for a customer holds nothing but an order, and whoever holds a customer waits for nobody.
// The customer's lock protects the two files of the account. The order's lock makes the copies of
// an order queue up behind each other instead of in the way of the customer's other orders, and
// covers whatever else belongs to an order in a real shop.
Outcome Worker::process(const Task& task) try {
  const Submission& submission = submissions_[task.submission];
  const mortise::Guard order = take("orders/" + submission.order);
  const mortise::Guard customer = take("customers/" + submission.customer);

  Account account(role_.directory, submission.customer, customer.token());
  note_recovery(account.completed());
  if (account.charged(submission.order)) return Outcome::duplicate;
  ask_the_bank();
  // A lease may have ended meanwhile; then nothing was done yet, and starting over is harmless.
  if (order.lost().stop_requested() || customer.lost().stop_requested()) return Outcome::open;
  account.charge(submission.order, submission.cents, [&] { stand_still_if_chosen(task); });
  return Outcome::charged;
} catch (const Outdated&) {
  return Outcome::open;
}

// An empty guard where the run has no locks: everything else is the same.
mortise::Guard Worker::take(const std::string& name) {
  if (!client_) return {};
  // Short leases, where there are leases, so that what a killed process held is free again soon.
  mortise::Lock lock = client_->lock(name, {.lease = 2s});
  const std::int64_t asked = now_ns();
  mortise::Guard guard(lock, {.wait = 60s});
  if (!guard) {
    const std::string by = guard.holder() ? " (held by " + guard.holder()->label + ")" : "";
    throw std::runtime_error(name + ": " + guard.error_text() + by);
  }
  const std::int64_t took = now_ns() - asked;
  if (took > std::chrono::nanoseconds(1ms).count()) ++figures_.waits;
  std::int64_t longest = figures_.longest_wait;
  while (took > longest && !figures_.longest_wait.compare_exchange_weak(longest, took)) {
  }
  return guard;
}

const Task* Worker::next_task() {
  for (;;) {
    const std::size_t next = next_++;
    if (next >= tasks_.size() || failed_) return nullptr;
    // What an earlier life of this process finished stays finished. What it died over is done
    // again: the ledger tells whether there is anything left to do.
    if (board_.outcome(tasks_[next].submission) == Outcome::open) return &tasks_[next];
  }
}

void Worker::wait_for_arrival(const Task& task) const {
  while (board_->started_at == 0) std::this_thread::sleep_for(1ms);
  if (options_.rate == 0) return;
  const auto after = std::chrono::nanoseconds(1s) * static_cast<std::int64_t>(task.moment) /
                     static_cast<std::int64_t>(options_.rate);
  std::this_thread::sleep_until(
      std::chrono::steady_clock::time_point(std::chrono::nanoseconds(board_->started_at) + after));
}

void Worker::note_recovery(const std::vector<std::string>& orders) {
  figures_.repaired += orders.size();
  Crash& crash = board_->crash;
  if (crash.submission == 0 || crash.completed_by != 0) return;
  const std::string& order = submissions_[crash.submission - 1].order;
  if (std::find(orders.begin(), orders.end(), order) == orders.end()) return;
  crash.completed_at = now_ns();
  crash.completed_by = role_.process + 1;
}

// The crash happens where it hurts most: the ledger has the charge, the balance does not, and both
// locks are held. The thread reports and stands still here until the supervisor kills the process;
// the other threads go on until that moment. Best is an order whose copy waits elsewhere by now; a
// process that lags behind the others finds those charged already, and takes any.
void Worker::stand_still_if_chosen(const Task& task) {
  if (role_.process != victim_of(options_.processes)) return;
  const auto place = static_cast<std::size_t>(&task - tasks_.data());
  if (place < (task.has_copies ? tasks_.size() / 3 : tasks_.size() / 2)) return;
  Crash& crash = board_->crash;
  if (crash.taken.exchange(true)) return;
  crash.submission = task.submission + 1;
  tell(Message::inside);
  for (;;) ::pause();
}

void Worker::fail(const char* why) {
  const std::scoped_lock lock(failure_mutex_);
  if (!failed_.exchange(true)) failure_ = why;
}

}  // namespace shop
