// SPDX-License-Identifier: MIT
#include "supervisor.hpp"

#include "worker.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace shop {
namespace {

using namespace std::chrono_literals;

// Long enough that the other processes continue without the dead process.
constexpr auto death_lasts = 250ms;

volatile std::sig_atomic_t interrupted = 0;

void on_interrupt(int /*signal*/) { interrupted = 1; }

void listen_for_interrupts() {
  interrupted = 0;
  struct sigaction action {};
  action.sa_handler = on_interrupt;  // without SA_RESTART: poll() returns
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

// fork and exec in one call. The child does not inherit the board or the pipes of the parent.
pid_t spawn(const std::vector<std::string>& arguments, int messages) {
  std::vector<std::string> words{"order_processing"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, messages, message_descriptor);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::system_error(error, std::generic_category(), "start a worker");
  return pid;
}

}  // namespace

Supervisor::Supervisor(const Options& options, WorkerRole role, const Board& board,
                       const std::vector<Submission>& submissions, Progress& progress)
    : options_(options),
      role_(std::move(role)),
      board_(board),
      submissions_(submissions),
      progress_(progress),
      children_(options.processes) {
  listen_for_interrupts();
  story_.victim = victim_of(options.processes);
}

Supervisor::~Supervisor() {
  for (const Child& child : children_) {
    if (child.pid == 0) continue;
    ::kill(child.pid, SIGKILL);
    ::waitpid(child.pid, nullptr, 0);
    ::close(child.messages);
  }
}

Story Supervisor::run() {
  for (std::size_t i = 0; i < children_.size(); ++i) start(i);
  while (working()) {
    wait_for_messages();
    restart_when_due();
    if (board_->started_at == 0) {
      const bool all = std::all_of(children_.begin(), children_.end(),
                                   [](const Child& child) { return child.ready; });
      if (all) board_->started_at = now_ns();
    } else {
      progress_.show(board_);
    }
  }
  progress_.end();
  story_.took = std::chrono::nanoseconds(now_ns() - board_->started_at);
  return story_;
}

bool Supervisor::working() const {
  return restart_at_ || std::any_of(children_.begin(), children_.end(),
                                    [](const Child& child) { return child.pid != 0; });
}

void Supervisor::start(std::size_t process) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "make a pipe");
  }
  WorkerRole role = role_;
  role.process = process;
  try {
    children_[process] = {.pid = spawn(worker_arguments(options_, role), ends[1]),
                          .messages = ends[0]};
  } catch (...) {
    ::close(ends[0]);
    ::close(ends[1]);
    throw;
  }
  ::close(ends[1]);
}

// Sleeps until a worker sends a message or ends, or until the progress must be shown again.
void Supervisor::wait_for_messages() {
  std::vector<pollfd> pipes;
  for (const Child& child : children_) {
    pipes.push_back({.fd = child.pid != 0 ? child.messages : -1, .events = POLLIN, .revents = 0});
  }
  const int count = ::poll(pipes.data(), pipes.size(), 20);
  if (interrupted != 0) throw Interrupted{};
  if (count < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "poll");
  if (count <= 0) return;
  for (std::size_t i = 0; i < pipes.size(); ++i) {
    if (pipes[i].revents != 0) receive(i);
  }
}

void Supervisor::receive(std::size_t process) {
  Child& child = children_[process];
  char byte = 0;
  if (::read(child.messages, &byte, 1) != 1) {
    reap(process);
  } else if (byte == static_cast<char>(Message::ready)) {
    child.ready = true;
  } else {
    kill_inside(process);
  }
}

void Supervisor::kill_inside(std::size_t process) {
  const Submission& at = submissions_[board_->crash.submission - 1];
  story_.killed_at = now_ns();
  ::kill(children_[process].pid, SIGKILL);
  children_[process].killed = true;
  progress_.print("kill -9: process " + std::to_string(process + 1) + " (pid " +
                  std::to_string(children_[process].pid) + ") in the middle of charging " +
                  at.order + " of " + at.customer + ":");
  progress_.print("         the ledger has the charge, the balance does not");
}

void Supervisor::reap(std::size_t process) {
  Child& child = children_[process];
  int status = 0;
  ::waitpid(child.pid, &status, 0);
  ::close(child.messages);
  const bool killed = child.killed;
  child = {};
  if (killed) {
    restart_at_ = std::chrono::steady_clock::now() + death_lasts;
    return;
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  if (interrupted != 0) throw Interrupted{};
  throw std::runtime_error("process " + std::to_string(process + 1) +
                           (WIFSIGNALED(status) ? " was killed by another program" : " failed"));
}

void Supervisor::restart_when_due() {
  if (!restart_at_ || std::chrono::steady_clock::now() < *restart_at_) return;
  restart_at_.reset();
  std::size_t remaining = 0;
  const auto desks = deal(submissions_, children_.size());
  for (const Task& task : desks[story_.victim]) {
    if (board_.outcome(task.submission) == Outcome::open) ++remaining;
  }
  start(story_.victim);
  progress_.print("restart: process " + std::to_string(story_.victim + 1) + " (pid " +
                  std::to_string(children_[story_.victim].pid) + "), with the " +
                  std::to_string(remaining) + " submissions that it had not finished");
}

}  // namespace shop
