// SPDX-License-Identifier: MIT
// A worker process. Its threads take the submissions of this process, and the cashier charges them.
#pragma once

#include "board.hpp"
#include "cashier.hpp"
#include "options.hpp"
#include "submissions.hpp"

#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

namespace shop {

/// The messages of a worker to its supervisor, through `message_descriptor`.
enum class Message : char { ready = 'r', inside = 'i' };
inline constexpr int message_descriptor = 3;

/// @return the process that is killed: the second one.
[[nodiscard]] constexpr std::size_t victim_of(std::size_t processes) noexcept {
  return processes > 1 ? 1 : 0;
}

class Worker {
 public:
  explicit Worker(const Options& options);
  /// Works until all submissions are handled. @return the exit code
  int run();

 private:
  void work();
  [[nodiscard]] const Task* next_task();
  void wait_for_arrival(const Task& task) const;
  void note_recovery(const std::vector<std::string>& orders);
  void stand_still_if_chosen(const Task& task);
  void fail(const char* why);

  const Options options_;
  const WorkerRole role_;
  const std::vector<Submission> submissions_;
  const std::vector<Task> tasks_;
  const Board board_;
  Figures& figures_;
  Cashier cashier_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex failure_mutex_;
  std::string failure_;
};

}  // namespace shop
