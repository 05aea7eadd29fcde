// SPDX-License-Identifier: MIT
// Runs the program as a shell does: as a job of its own, with its output in files. /proc shows its
// processes.
#pragma once

#include "model/temporary.hpp"
#include "support/eventually.hpp"
#include "support/text_of.hpp"

#include <gtest/gtest.h>

#include <signal.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace mortise::test {

using Words = std::vector<std::string>;

/// The result of one call.
struct ToolResult {
  int status = -1;  ///< as in a shell; -1: the call did not end in time
  std::string out;
  std::string err;
};

/// A call of the program that has not ended. Move-only; killed with the object.
class RunningTool {
 public:
  /// @param words the program's path and its arguments
  /// @param files the path of its output files, without their endings
  RunningTool(const Words& words, std::string files, const std::vector<int>& ignored = {});
  RunningTool(RunningTool&& other) noexcept;
  RunningTool& operator=(RunningTool&&) = delete;
  RunningTool(const RunningTool&) = delete;
  RunningTool& operator=(const RunningTool&) = delete;
  ~RunningTool();

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  /// The process that has the lock; 0: it does not exist.
  [[nodiscard]] pid_t keeper() const;
  void signal(int number) const { ::kill(pid_, number); }
  /// Fails if the keeper does not exist: number 0 would be every process of the test's own group.
  void signal_keeper(int number) const;
  /// Waits for the end of the call. @return its result
  ToolResult wait();

 private:
  std::string files_;
  pid_t pid_ = -1;
  std::optional<int> status_;
};

/// @return the state letter of a process, as in ps: that of its main thread; 'Z' if there is none.
[[nodiscard]] char state_of(pid_t pid);
/// @return whether no thread of the process is left.
[[nodiscard]] bool is_gone(pid_t pid);
/// Puts both on one processor. There `last` hardly runs while `first` can run.
void put_behind(pid_t first, pid_t last);
/// Undoes `put_behind()` for a child of the last process: on a busy machine it would not get the
/// time to die.
void put_back(pid_t pid);

class ToolTest : public ::testing::Test {
 protected:
  ToolTest();
  [[nodiscard]] std::string file(const std::string& name) const { return directory_.file(name); }
  [[nodiscard]] const std::string& url() const { return url_; }

  /// Calls the program, and waits for its end.
  ToolResult call(const Words& words) { return start(words).wait(); }
  [[nodiscard]] RunningTool start(const Words& words, const std::vector<int>& ignored = {});
  /// Any program, by its path.
  [[nodiscard]] RunningTool start_program(const Words& words, const std::vector<int>& ignored = {});
  /// `words`, and a shell command after "--". In it, $F is the folder of the test, and `note x`
  /// writes the number of the shell to the file x, in one step.
  [[nodiscard]] Words with_shell(Words words, const std::string& script) const;
  /// Waits for that file. @return the number in it
  [[nodiscard]] pid_t noted(const std::string& name) const;
  /// @return what runs on this machine, for the message of a failure.
  [[nodiscard]] std::string processes() const;
  [[nodiscard]] bool is_there(const std::string& name) const;
  void touch(const std::string& name) const;
  /// Sets MORTISE_URL, which names the store to the program; it is `url()` at first.
  static void use_store(const std::string& url);
  /// Whether the name can be taken now.
  [[nodiscard]] bool is_free(const std::string& name);

 private:
  model::TemporaryDirectory directory_;
  std::string url_;
  int calls_ = 0;
};

}  // namespace mortise::test
