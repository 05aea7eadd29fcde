// SPDX-License-Identifier: MIT
#include "tool/tool_fixture.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>
#include <utility>

namespace mortise::test {
namespace {

/// Runs in the child. Only calls of signal-safety(7), because the test may have threads.
[[noreturn]] void become_tool(char* const* words, const char* out, const char* err,
                              const std::vector<int>& ignored, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(125);
  // A job of its own, as a shell makes one, so that it does not stop the test.
  ::setpgid(0, 0);
  ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
  ::dup2(::open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
  ::dup2(::open(err, O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
  // The test may ignore signals that a user's shell does not: `&` in a script ignores SIGINT.
  for (const int number : {SIGINT, SIGQUIT, SIGHUP}) ::signal(number, SIG_DFL);
  for (const int number : ignored) ::signal(number, SIG_IGN);
  ::execv(words[0], words);
  ::_exit(125);
}

}  // namespace

RunningTool::RunningTool(const Words& words, std::string files, const std::vector<int>& ignored)
    : files_(std::move(files)) {
  Words all = words;
  std::vector<char*> pointers;
  for (std::string& word : all) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const std::string out = files_ + ".out";
  const std::string err = files_ + ".err";
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) become_tool(pointers.data(), out.c_str(), err.c_str(), ignored, parent);
}

RunningTool::RunningTool(RunningTool&& other) noexcept
    : files_(std::move(other.files_)),
      pid_(std::exchange(other.pid_, -1)),
      status_(other.status_) {}

RunningTool::~RunningTool() {
  if (pid_ <= 0 || status_) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

pid_t RunningTool::keeper() const {
  std::istringstream children(
      text_of("/proc/" + std::to_string(pid_) + "/task/" + std::to_string(pid_) + "/children"));
  pid_t keeper = 0;
  children >> keeper;
  return keeper;
}

void RunningTool::signal_keeper(int number) const {
  const pid_t its = keeper();
  ASSERT_GT(its, 0);
  ::kill(its, number);
}

ToolResult RunningTool::wait() {
  int status = 0;
  if (!status_ && eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; })) {
    status_ = WIFSIGNALED(status) ? 1'000 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  return {status_.value_or(-1), text_of(files_ + ".out"), text_of(files_ + ".err")};
}

char state_of(pid_t pid) {
  const std::string stat = text_of("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = stat.rfind(')');
  return name_end == std::string::npos ? 'Z' : stat[name_end + 2];
}

bool is_gone(pid_t pid) {
  if (state_of(pid) != 'Z') return false;
  // If other threads work, the main thread is one of several tasks.
  std::error_code none;
  const std::filesystem::directory_iterator tasks("/proc/" + std::to_string(pid) + "/task", none);
  return none || std::distance(begin(tasks), end(tasks)) <= 1;
}

void put_behind(pid_t first, pid_t last) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(::sched_getcpu()), &one);
  for (const pid_t pid : {first, last}) {
    ASSERT_GT(pid, 0) << "0 would be the test itself";
    EXPECT_EQ(::sched_setaffinity(pid, sizeof one, &one), 0);
  }
  // On a busy machine, a process under SCHED_IDLE hardly runs.
  EXPECT_EQ(::setpriority(PRIO_PROCESS, static_cast<id_t>(last), 10), 0);
}

void put_back(pid_t pid) {
  // Without the permission, the priority stays low.
  static_cast<void>(::setpriority(PRIO_PROCESS, static_cast<id_t>(pid), 0));
}

ToolTest::ToolTest() : url_("file://" + directory_.path() + "/locks") {
  std::filesystem::create_directory(directory_.path() + "/locks");
  std::filesystem::permissions(directory_.path() + "/locks", std::filesystem::perms::owner_all);
  ::setenv("F", directory_.path().c_str(), 1);
  use_store(url_);
}

RunningTool ToolTest::start(const Words& words, const std::vector<int>& ignored) {
  Words all{MORTISE_TOOL};
  all.insert(all.end(), words.begin(), words.end());
  return start_program(all, ignored);
}

RunningTool ToolTest::start_program(const Words& words, const std::vector<int>& ignored) {
  return {words, file("call" + std::to_string(++calls_)), ignored};
}

Words ToolTest::with_shell(Words words, const std::string& script) const {
  const std::string note = "note() { echo $$ > $F/$1.new; mv $F/$1.new $F/$1; }\n";
  words.insert(words.end(), {"--", "sh", "-c", note + script});
  return words;
}

pid_t ToolTest::noted(const std::string& name) const {
  EXPECT_TRUE(eventually([&] { return is_there(name); })) << name << " does not come\n"
                                                          << processes();
  return std::atoi(text_of(file(name)).c_str());
}

std::string ToolTest::processes() const {
  const std::string list = file("processes");
  const std::string command = "ps -e --forest -o pid,stat,wchan:24,args >" + list;
  return std::system(command.c_str()) == 0 ? text_of(list) : "no ps";
}

bool ToolTest::is_there(const std::string& name) const {
  return ::access(file(name).c_str(), F_OK) == 0;
}

void ToolTest::touch(const std::string& name) const { std::ofstream(file(name)) << '\n'; }

void ToolTest::use_store(const std::string& url) { ::setenv("MORTISE_URL", url.c_str(), 1); }

bool ToolTest::is_free(const std::string& name) {
  return call({"run", name, "--try", "--", "true"}).status == 0;
}

}  // namespace mortise::test
