// SPDX-License-Identifier: MIT
#include "simulation/postgres/process.hpp"

#include <utility>

namespace simulation::postgres {

void Scheduler::add(Process& process) {
  process.id_ = ++last_;
  processes_.emplace(process.id_, &process);
}

void Scheduler::remove(const Process& process) { processes_.erase(process.id_); }

void Scheduler::wake(Process& process, Wake why) {
  if (!process.sleeps() || std::exchange(process.woken_, true)) return;
  process.why_ = why;
  ready_.push_back({.process = process.id_, .wait = process.wait_});
}

void Scheduler::wake_id(std::uint64_t process, Wake why) {
  if (const auto found = processes_.find(process); found != processes_.end()) {
    wake(*found->second, why);
  }
}

void Scheduler::run() {
  if (running_) return;
  running_ = true;
  while (!ready_.empty()) {
    const Ready next = ready_.front();
    ready_.pop_front();
    const auto found = processes_.find(next.process);
    if (found == processes_.end() || found->second->wait_ != next.wait) continue;
    Process& process = *found->second;
    std::exchange(process.handle_, {}).resume();
    process.stopped();
  }
  running_ = false;
  if (when_done) when_done();
}

void Scheduler::wake_after(Nanos delay, Process& process) {
  site_.after(delay, [this, id = process.id_, wait = process.wait_] {
    const auto found = processes_.find(id);
    if (found == processes_.end() || found->second->wait_ != wait) return;
    wake(*found->second, Wake::time);
    run();
  });
}

void Process::Sleep::await_suspend(std::coroutine_handle<> handle) {
  process_.handle_ = handle;
  process_.interruptible_ = interruptible_;
  process_.woken_ = false;
  ++process_.wait_;
  if (at_most_) process_.scheduler_.wake_after(*at_most_, process_);
}

}  // namespace simulation::postgres
