// SPDX-License-Identifier: MIT
// Reads /proc/<process>/task/*/schedstat: time on a processor, time ready to run without one,
// turns. Children that run this program as well play the part of other clients, or of a busy
// machine. They serve no call, so their waits do not count.
#include "support/own_time.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace mortise::test {
namespace {

namespace fs = std::filesystem;

bool servers_of_parent = false;

// Nothing if the kernel does not count it, or the thread has ended.
std::chrono::nanoseconds waited_by(const fs::path& thread) {
  std::ifstream file(thread / "schedstat");
  long long ran = 0;
  long long waited = -1;
  file >> ran >> waited;
  return std::chrono::nanoseconds(waited);
}

fs::path process(pid_t id) { return fs::path("/proc") / std::to_string(id); }

/// Calls `each` with every thread of a process, and its folder. A thread may end at any moment.
template <class Each>
void for_threads(pid_t of, Each each) {
  std::error_code ignored;
  fs::directory_iterator task(process(of) / "task", ignored);
  for (; task != fs::directory_iterator(); task.increment(ignored)) {
    each(static_cast<pid_t>(std::stoi(task->path().filename().string())), task->path());
  }
}

void add_with_children(pid_t server, Waits::Threads& threads) {
  for_threads(server, [&](pid_t id, const fs::path& thread) {
    const auto waited = waited_by(thread);
    if (waited.count() >= 0) threads[id] = waited;
    std::ifstream children(thread / "children");
    for (pid_t child = 0; children >> child;) add_with_children(child, threads);
  });
}

std::chrono::nanoseconds longest_between(const Waits::Threads& before,
                                         const Waits::Threads& after) {
  std::chrono::nanoseconds longest{0};
  for (const auto& [thread, waited] : after) {
    if (thread == ::gettid()) continue;
    const auto earlier = before.find(thread);
    longest = std::max(longest, earlier == before.end() ? waited : waited - earlier->second);
  }
  return longest;
}

}  // namespace

Waits waits_for_processors() {
  Waits waits;
  std::error_code ignored;
  const fs::path own_program = fs::read_symlink(process(::getpid()) / "exe", ignored);
  const auto add_servers = [&](const fs::path& of_thread) {
    std::ifstream children(of_thread / "children");
    for (pid_t child = 0; children >> child;) {
      if (fs::read_symlink(process(child) / "exe", ignored) == own_program) continue;
      add_with_children(child, waits.servers[child]);
    }
  };
  for_threads(::getpid(), [&](pid_t id, const fs::path& thread) {
    const auto waited = waited_by(thread);
    if (waited.count() >= 0) waits.own[id] = waited;
    add_servers(thread);
  });
  if (servers_of_parent) {
    for_threads(::getppid(), [&](pid_t /*id*/, const fs::path& thread) { add_servers(thread); });
  }
  return waits;
}

void count_servers_of_parent() noexcept { servers_of_parent = true; }

std::chrono::nanoseconds waited_between(const Waits& before, const Waits& after) {
  std::chrono::nanoseconds all = longest_between(before.own, after.own);
  for (const auto& [server, threads] : after.servers) {
    const auto earlier = before.servers.find(server);
    all += longest_between(earlier == before.servers.end() ? Waits::Threads() : earlier->second,
                           threads);
  }
  return all;
}

// To read it takes a while, in which the thread may be made to wait: that would be taken off the
// call's time and be no part of it, or the other way round.
Moment this_moment() {
  constexpr int tries = 100;  // each is over long before a thread's turn is
  const auto read = [] {
    return std::max(waited_by(process(::getpid()) / "task" / std::to_string(::gettid())),
                    std::chrono::nanoseconds(0));
  };
  Moment moment{.at = {}, .waited = read()};
  for (int i = 0; i < tries; ++i) {
    moment.at = std::chrono::steady_clock::now();
    const auto later = read();
    const bool same = later == moment.waited;
    moment.waited = later;
    if (same) break;
  }
  return moment;
}

OwnTimeLimit::OwnTimeLimit(std::chrono::nanoseconds limit, std::chrono::nanoseconds at_most)
    : before_(waits_for_processors()),
      began_(this_moment()),
      limit_(limit),
      at_most_(at_most),
      until_(began_.at + limit) {}

bool OwnTimeLimit::is_over() {
  if (std::chrono::steady_clock::now() < until_) return false;
  const auto waited =
      this_moment().waited - began_.waited + waited_between(before_, waits_for_processors());
  until_ = began_.at + std::min(limit_ + waited, at_most_);
  return std::chrono::steady_clock::now() >= until_;
}

}  // namespace mortise::test
