// SPDX-License-Identifier: MIT
#include "worker.hpp"

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

void send(Message message) {
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
      figures_(board_->figures.at(role_.process)),
      cashier_(role_.directory, role_.locks ? options.url : "", figures_) {}

int Worker::run() {
  send(Message::ready);
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
      const Submission& submission = submissions_[task->submission];
      const Witness witness{.between = [&] { stand_still_if_chosen(*task); },
                            .completed = [&](const auto& orders) { note_recovery(orders); }};
      Outcome outcome = Outcome::open;
      while ((outcome = cashier_.charge(submission, witness)) == Outcome::open) {
        ++figures_.started_over;
      }
      ++(outcome == Outcome::charged    ? figures_.charged
         : outcome == Outcome::replayed ? figures_.replayed
                                        : figures_.found);
      board_.outcome(task->submission) = outcome;
    }
  } catch (const std::exception& e) {
    fail(e.what());
  }
}

const Task* Worker::next_task() {
  for (;;) {
    const std::size_t next = next_++;
    if (next >= tasks_.size() || failed_) return nullptr;
    // Submissions that this process finished before its restart stay finished. It handles an open
    // one again, and the ledger shows whether the order is charged.
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

// The crash happens at the worst place: the ledger has the charge, the balance does not, and both
// locks are held. The thread sends a message, and stops here until the supervisor kills the
// process. The other threads continue until then. The first choice is an order whose copy waits in
// another process. If this process is late, those orders are charged already, and it takes any
// order.
void Worker::stand_still_if_chosen(const Task& task) {
  if (role_.process != victim_of(options_.processes)) return;
  const auto place = static_cast<std::size_t>(&task - tasks_.data());
  if (place < (task.has_copies ? tasks_.size() / 3 : tasks_.size() / 2)) return;
  Crash& crash = board_->crash;
  if (crash.taken.exchange(true)) return;
  crash.submission = task.submission + 1;
  send(Message::inside);
  for (;;) ::pause();
}

void Worker::fail(const char* why) {
  const std::scoped_lock lock(failure_mutex_);
  if (!failed_.exchange(true)) failure_ = why;
}

}  // namespace shop
