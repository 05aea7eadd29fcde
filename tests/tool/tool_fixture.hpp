// SPDX-License-Identifier: MIT
// The program as a shell's user has it: started as a job of its own, its output in files, its
// processes seen by /proc.
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

/// What came of one call.
struct ToolResult {
  int status = -1;  ///< as the shell has it; -1: it did not end in time
  std::string out;
  std::string err;
};

/// One call of the program under way. Move-only; killed with the object.
class RunningTool {
 public:
  /// @param words the program's path and its arguments
  /// @param files where its output goes; a name of its own
  RunningTool(const Words& words, std::string files, const std::vector<int>& ignored = {});
  RunningTool(RunningTool&& other) noexcept;
  RunningTool& operator=(RunningTool&&) = delete;
  RunningTool(const RunningTool&) = delete;
  RunningTool& operator=(const RunningTool&) = delete;
  ~RunningTool();

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  /// The process that has the lock; 0: not there (any more).
  [[nodiscard]] pid_t keeper() const;
  void signal(int number) const { ::kill(pid_, number); }
  /// Fails where it is not there: number 0 would be every process of the test's own group.
  void signal_keeper(int number) const;
  /// @return what came of it, once it has ended.
  ToolResult wait();

 private:
  std::string files_;
  pid_t pid_ = -1;
  std::optional<int> status_;
};

/// @return the state letter of a process, as in ps, which is that of its main thread; 'Z' too where
/// there is none.
[[nodiscard]] char state_of(pid_t pid);
/// @return whether none of its threads is left.
[[nodiscard]] bool is_gone(pid_t pid);
/// Has both on one processor, on which `last` goes on only while `first` has nothing to do.
void put_behind(pid_t first, pid_t last);
/// Ends that for a process that was forked by the last one: on a busy machine it would not even get
/// the time to die.
void put_back(pid_t pid);

class ToolTest : public ::testing::Test {
 protected:
  ToolTest();
  [[nodiscard]] std::string file(const std::string& name) const { return directory_.file(name); }
  [[nodiscard]] const std::string& url() const { return url_; }

  /// Calls it, and waits for its end.
  ToolResult call(const Words& words) { return start(words).wait(); }
  [[nodiscard]] RunningTool start(const Words& words, const std::vector<int>& ignored = {});
  /// Any program, by its path.
  [[nodiscard]] RunningTool start_program(const Words& words, const std::vector<int>& ignored = {});
  /// `words`, and a shell command behind "--". In it, $F is the test's folder, and `note x` writes
  /// the shell's number to the file x, in one step.
  [[nodiscard]] Words with_shell(Words words, const std::string& script) const;
  /// @return the number in that file, once it is there.
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
