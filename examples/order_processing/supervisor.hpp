// SPDX-License-Identifier: MIT
// Starts the worker processes, kills one inside its critical section, starts it again, and waits
// until all have ended.
#pragma once

#include "board.hpp"
#include "options.hpp"
#include "report.hpp"
#include "submissions.hpp"

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace shop {

/// The user wants to stop (SIGINT, SIGTERM).
struct Interrupted {};

/// The events of a run.
struct Story {
  std::chrono::nanoseconds took{0};
  std::int64_t killed_at = 0;  ///< `now_ns()`; 0 = no process was killed
  std::size_t victim = 0;      ///< which process
};

/// The destructor kills the processes that still run.
class Supervisor {
 public:
  Supervisor(const Options& options, WorkerRole role, const Board& board,
             const std::vector<Submission>& submissions, Progress& progress);
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;
  ~Supervisor();

  /// @throws Interrupted; std::runtime_error if a worker fails
  Story run();

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Child {
    pid_t pid = 0;
    int messages = -1;  // read end of its pipe, which ends when the process does
    bool ready = false;
    bool killed = false;
  };

  void start(std::size_t process);
  void wait_for_messages();
  void receive(std::size_t process);
  void kill_inside(std::size_t process);
  void reap(std::size_t process);
  void restart_when_due();
  [[nodiscard]] bool working() const;

  const Options& options_;
  const WorkerRole role_;
  const Board& board_;
  const std::vector<Submission>& submissions_;
  Progress& progress_;
  std::vector<Child> children_;
  std::optional<Time> restart_at_;
  Story story_;
};

}  // namespace shop
