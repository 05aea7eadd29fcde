// SPDX-License-Identifier: MIT
// Server processes as tasks: one goes on when what it waits for has come, in an order that only the
// site decides. At any moment at most one of them runs.
#pragma once

#include "simulation/postgres/options.hpp"

#include <coroutine>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>

namespace simulation::postgres {

/// Why a process goes on.
enum class Wake : std::uint8_t {
  come,       ///< what it waited for is there
  time,       ///< too late
  interrupt,  ///< somebody cancels its statement, or ends it
};

class Process;

class Scheduler {
 public:
  explicit Scheduler(Site& site) : site_(site) {}

  void add(Process& process);
  void remove(const Process& process);
  /// Lets a process go on, later in `run()`; nothing where it does not wait.
  void wake(Process& process, Wake why);
  void wake_id(std::uint64_t process, Wake why);
  /// Lets go on whoever may.
  void run();
  /// The same, for the wait that the process begins now, when so much time is over.
  void wake_after(Nanos delay, Process& process);
  /// Called at the end of every `run()`.
  std::function<void()> when_done{};

 private:
  struct Ready {
    std::uint64_t process = 0;
    std::uint64_t wait = 0;
  };
  Site& site_;
  std::uint64_t last_ = 0;
  bool running_ = false;
  std::map<std::uint64_t, Process*> processes_;
  std::deque<Ready> ready_;
};

class Process {
 public:
  explicit Process(Scheduler& scheduler) : scheduler_(scheduler) { scheduler_.add(*this); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  virtual ~Process() { scheduler_.remove(*this); }

  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  [[nodiscard]] bool sleeps() const noexcept { return bool(handle_); }
  /// @return whether it may be interrupted while it sleeps.
  [[nodiscard]] bool interruptible() const noexcept { return interruptible_; }

  class Sleep {
   public:
    Sleep(Process& process, bool interruptible, std::optional<Nanos> at_most)
        : process_(process), interruptible_(interruptible), at_most_(at_most) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle);
    Wake await_resume() const noexcept { return process_.why_; }

   private:
    Process& process_;
    bool interruptible_;
    std::optional<Nanos> at_most_;
  };
  /// Waits until it is woken.
  [[nodiscard]] Sleep sleep(bool interruptible, std::optional<Nanos> at_most = {}) {
    return {*this, interruptible, at_most};
  }

 protected:
  [[nodiscard]] Scheduler& scheduler() const noexcept { return scheduler_; }
  /// Called when it has run and waits, or has ended.
  virtual void stopped() {}

 private:
  friend class Scheduler;
  Scheduler& scheduler_;
  std::uint64_t id_ = 0;
  std::uint64_t wait_ = 0;  // counts
  bool interruptible_ = false;
  bool woken_ = false;
  Wake why_ = Wake::come;
  std::coroutine_handle<> handle_{};
};

}  // namespace simulation::postgres
