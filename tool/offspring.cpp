// SPDX-License-Identifier: MIT
#include "offspring.hpp"

#include "command.hpp"
#include "descriptor.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace mortise::tool {
namespace {

struct Entry {
  pid_t pid = 0;
  pid_t parent = 0;
  unsigned long long start = 0;
  bool alive = false;
};

/// One process, by /proc/<pid>/stat (proc(5)): its name in brackets may contain anything.
///
/// The state is that of the main thread. In a process whose main thread has ended by
/// pthread_exit(3) it is 'Z' while other threads work. A process that has ended has one thread, the
/// zombie itself, or none.
std::optional<Entry> entry_of(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[1024];
  const ssize_t size = fd.get() < 0 ? -1 : ::read(fd.get(), text, sizeof text - 1);
  if (size <= 0) return std::nullopt;
  text[size] = '\0';
  const std::string_view all(text);
  const std::size_t name_end = all.rfind(')');
  Entry entry;
  entry.pid = pid;
  char state = 0;
  long threads = 0;
  // After the name: state, parent, 15 fields, the number of threads, one field, and the time of
  // its start.
  if (name_end == std::string_view::npos ||
      // NOLINTNEXTLINE(cert-err34-c): the kernel wrote these numbers
      std::sscanf(text + name_end + 1,
                  " %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld %*s %llu",
                  &state, &entry.parent, &threads, &entry.start) != 4) {
    return std::nullopt;
  }
  entry.alive = (state != 'Z' && state != 'X') || threads > 1;
  return entry;
}

std::vector<Entry> all_processes() {
  std::vector<Entry> all;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc"), &::closedir);
  if (!folder) return all;
  while (const dirent* const each = ::readdir(folder.get())) {
    const int pid = std::atoi(each->d_name);
    if (pid <= 0) continue;
    if (const auto entry = entry_of(pid)) all.push_back(*entry);
  }
  return all;
}

/// @return the descendants of `root`, without `strangers` and their descendants. Parents come
/// before their children.
std::vector<Entry> descendants(pid_t root, const std::vector<pid_t>& strangers) {
  const std::vector<Entry> all = all_processes();
  std::vector<Entry> found;
  std::vector<pid_t> parents{root};
  while (!parents.empty()) {
    const pid_t parent = parents.back();
    parents.pop_back();
    for (const Entry& each : all) {
      if (each.parent != parent) continue;
      if (std::find(strangers.begin(), strangers.end(), each.pid) != strangers.end()) continue;
      found.push_back(each);
      parents.push_back(each.pid);
    }
  }
  return found;
}

/// Sends a signal to that process, unless its number now belongs to a newer process.
void send(const Entry& to, int number) {
  const Descriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, to.pid, 0)));
  const auto now = entry_of(to.pid);
  if (!now || now->start != to.start) return;
  if (handle.get() >= 0) {
    ::syscall(SYS_pidfd_send_signal, handle.get(), number, nullptr, 0);
  } else {
    ::kill(to.pid, number);  // a kernel before 5.3, or a sandbox
  }
}

}  // namespace

Offspring::Offspring() {
  for (const Entry& each : descendants(::getpid(), {})) strangers_.push_back(each.pid);
}

std::size_t Offspring::signal(int number) const {
  std::size_t alive = 0;
  for (const Entry& each : descendants(::getpid(), strangers_)) {
    if (!each.alive) continue;
    ++alive;
    send(each, number);
  }
  return alive;
}

void Offspring::kill_all(pid_t group) const {
  while (signal_group(group, SIGKILL) || signal(SIGKILL) > 0) {
    while (group > 0 && ::waitpid(-group, nullptr, WNOHANG) > 0) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // until the kernel has done it
  }
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

}  // namespace mortise::tool
