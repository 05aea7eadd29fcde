// SPDX-License-Identifier: MIT
// Client processes for tests that kill, stop and resume them. No child survives its Process object,
// nor the thread that started it, and each is ended by its own pid.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace mortise::model {

class ProcessError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// How a child ended, and within which window of CLOCK_MONOTONIC (what Recorder::died() wants).
struct Exit {
  int code = 0;    // what it returned; meaningless if signalled
  int signal = 0;  // that killed it, or 0
  std::int64_t sent = 0;
  std::int64_t reaped = 0;

  bool killed() const noexcept { return signal != 0; }
};

// Move-only. The kernel kills the child when the thread that started it ends (PR_SET_PDEATHSIG), so
// start children from a thread that outlives them: the test's own.
class Process {
 public:
  // Runs `body` in a forked child, which ends with _exit(body()); 125 if it throws, after printing
  // why. Refuses (ProcessError) while this process has another thread, since a lock that such a
  // thread holds at the fork stays locked in the child for ever. The child may make threads. What
  // it expects it must report by its code: its test assertions reach nobody.
  static Process fork_child(const std::function<int()>& body);

  // Runs a program by its path. `inherited` is a descriptor that stays open in it under the same
  // number, in spite of O_CLOEXEC; all its other descriptors follow their own flags. Code 127 if it
  // cannot be executed.
  static Process spawn(const std::string& program, const std::vector<std::string>& arguments,
                       int inherited = -1);

  Process() = default;
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();  // kill -9 and reap

  pid_t pid() const noexcept { return pid_; }

  // kill -9, and reaps. Where the child had ended by itself before, the window begins at its start.
  Exit kill();

  // Asks it to end; wait_for() tells whether it did.
  void terminate();

  // SIGSTOP; returns when all its threads stand still, or it has ended (false).
  bool stop();
  void resume();

  // Waits until it has ended, and reaps it; nothing if it still runs at the end of the time.
  // Answers the same ever after.
  std::optional<Exit> wait_for(std::chrono::milliseconds time);

 private:
  Process(pid_t pid, std::int64_t started) noexcept;
  void signal(int number) const;
  Exit reap(std::int64_t sent);

  pid_t pid_ = -1;  // -1: never started, or moved from
  std::int64_t started_ = 0;
  bool stopped_ = false;
  std::optional<Exit> exit_;
};

}  // namespace mortise::model
