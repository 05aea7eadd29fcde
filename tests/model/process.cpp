// SPDX-License-Identifier: MIT
// Between fork and exec only async-signal-safe calls are made; everything they need is prepared
// before. A child waits for nothing and is waited for through its pidfd, which makes "ended" a
// condition with a deadline.
#include "model/process.hpp"

#include "model/build.hpp"
#include "model/history.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

namespace mortise::model {

namespace {

constexpr int code_of_exception = 125;
constexpr int code_of_failed_exec = 127;

// The thread sanitizer has a thread of its own, which its own fork handler takes care of.
constexpr int own_threads = under_thread_sanitizer ? 2 : 1;

[[noreturn]] void fail_process(const std::string& what, int error) {
  throw ProcessError(what + ": " + std::generic_category().message(error));
}

int count_threads() {
  DIR* tasks = ::opendir("/proc/self/task");
  if (tasks == nullptr) {
    fail_process("cannot count threads", errno);
  }
  int count = 0;
  while (const dirent* entry = ::readdir(tasks)) {
    count += entry->d_name[0] == '.' ? 0 : 1;
  }
  ::closedir(tasks);
  return count;
}

// A joined thread is still listed for a moment: the kernel wakes the joiner before it forgets the
// thread.
void require_one_thread() {
  const std::int64_t deadline = monotonic_ns() + 1'000'000'000;
  int count = count_threads();
  while (count > own_threads) {
    if (monotonic_ns() > deadline) {
      throw ProcessError("cannot fork a child while " + std::to_string(count - 1) +
                         " other threads run");
    }
    std::this_thread::yield();
    count = count_threads();
  }
}

// In the child. The parent may have died before the kernel was told to care, and then this process
// already has another parent. A mask of the parent's thread would outlive even exec.
void begin_child(pid_t parent) noexcept {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) {
    ::_exit(code_of_exception);
  }
}

int run(const std::function<int()>& body) noexcept {
  try {
    return body();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "child process %d: %s\n", ::getpid(), error.what());
  } catch (...) {
    std::fprintf(stderr, "child process %d: unknown exception\n", ::getpid());
  }
  return code_of_exception;
}

siginfo_t wait_id(pid_t pid, int options) {
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid), &info, options) != 0) {
    if (errno != EINTR) {
      fail_process("cannot wait for process " + std::to_string(pid), errno);
    }
  }
  return info;
}

}  // namespace

Process::Process(pid_t pid, std::int64_t started) noexcept : pid_(pid), started_(started) {}

Process Process::fork_child(const std::function<int()>& body) {
  require_one_thread();
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  const std::int64_t started = monotonic_ns();
  const pid_t pid = ::fork();
  if (pid < 0) {
    fail_process("cannot fork", errno);
  }
  if (pid == 0) {
    begin_child(parent);
    const int code = run(body);
    std::fflush(nullptr);
    ::_exit(code);
  }
  return {pid, started};
}

Process Process::spawn(const std::string& program, const std::vector<std::string>& arguments,
                       int inherited) {
  std::vector<std::string> texts{program};
  texts.insert(texts.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  argv.reserve(texts.size() + 1);
  for (std::string& text : texts) {
    argv.push_back(text.data());
  }
  argv.push_back(nullptr);
  const pid_t parent = ::getpid();
  const std::int64_t started = monotonic_ns();
  const pid_t pid = ::fork();
  if (pid < 0) {
    fail_process("cannot fork for " + program, errno);
  }
  if (pid == 0) {
    begin_child(parent);
    if (inherited >= 0) {
      ::fcntl(inherited, F_SETFD, 0);
    }
    ::execv(argv[0], argv.data());
    ::_exit(code_of_failed_exec);
  }
  return {pid, started};
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      started_(other.started_),
      stopped_(other.stopped_),
      exit_(other.exit_) {}

Process& Process::operator=(Process&& other) noexcept {
  Process moved(std::move(other));
  std::swap(pid_, moved.pid_);
  std::swap(started_, moved.started_);
  std::swap(stopped_, moved.stopped_);
  std::swap(exit_, moved.exit_);
  return *this;
}

Process::~Process() {
  if (pid_ < 0 || exit_) {
    return;
  }
  // Nobody else reaps our child, so its pid is still its own.
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Process::signal(int number) const {
  if (pid_ < 0) {
    throw ProcessError("no process to signal");
  }
  if (!exit_ && ::kill(pid_, number) != 0) {
    fail_process("cannot signal process " + std::to_string(pid_), errno);
  }
}

Exit Process::kill() {
  if (exit_) {
    return *exit_;
  }
  const std::int64_t sent = monotonic_ns();
  // Still alive now, so it died after `sent`, whatever it died of; else nobody knows when.
  const bool alive = pid_ >= 0 && wait_id(pid_, WEXITED | WNOHANG | WNOWAIT).si_pid == 0;
  signal(SIGKILL);
  return reap(alive ? sent : started_);
}

void Process::terminate() { signal(SIGTERM); }

bool Process::stop() {
  if (exit_ || stopped_) {
    return !exit_;  // a second stop would be no change, and nothing to wait for
  }
  signal(SIGSTOP);
  // Only looked at: an end must stay there for reap(), and SIGCONT takes a stop back by itself.
  if (wait_id(pid_, WSTOPPED | WEXITED | WNOWAIT).si_code != CLD_STOPPED) {
    return false;
  }
  stopped_ = true;
  return true;
}

void Process::resume() {
  signal(SIGCONT);
  stopped_ = false;
}

std::optional<Exit> Process::wait_for(std::chrono::milliseconds time) {
  if (exit_ || pid_ < 0) {
    return exit_;
  }
  // By number: the header of glibc 2.36 declares the function without C linkage.
  const int handle = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  if (handle < 0) {
    fail_process("cannot open process " + std::to_string(pid_), errno);
  }
  const std::int64_t deadline = monotonic_ns() + std::chrono::nanoseconds(time).count();
  pollfd ended{handle, POLLIN, 0};
  int ready = -1;
  while (ready < 0) {
    const std::int64_t left = std::max<std::int64_t>(0, deadline - monotonic_ns());
    ready = ::poll(&ended, 1, static_cast<int>((left + 999'999) / 1'000'000));
    if (ready < 0 && errno != EINTR) {
      const int error = errno;
      ::close(handle);
      fail_process("cannot wait for process " + std::to_string(pid_), error);
    }
  }
  ::close(handle);
  if (ready > 0) {
    return reap(started_);
  }
  return std::nullopt;
}

Exit Process::reap(std::int64_t sent) {
  const siginfo_t info = wait_id(pid_, WEXITED);
  Exit exit;
  exit.reaped = monotonic_ns();
  if (info.si_code == CLD_EXITED) {
    exit.code = info.si_status;
  } else {
    exit.signal = info.si_status;
  }
  exit.sent = sent;
  exit_ = exit;
  return exit;
}

}  // namespace mortise::model
