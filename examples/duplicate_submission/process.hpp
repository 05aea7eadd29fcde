// SPDX-License-Identifier: MIT
// A web worker in a process of its own. It is a new program, because a forked child cannot use its
// parent's client.
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace shop {

/// Runs this program again, as `serve()`. Kills it at the end.
class Process {
 public:
  Process(std::string url, std::string ledger) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    std::string program = "duplicate_submission";
    std::string role = "--worker";
    std::array<char*, 5> argv{program.data(), role.data(), url.data(), ledger.data(), nullptr};
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    const int error =
        ::posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    std::FILE* const output = ::fdopen(ends[0], "r");
    if (error != 0 || std::fscanf(output, "%d", &port_) != 1) port_ = 0;
    std::fclose(output);
    if (port_ != 0) return;
    end();
    throw std::runtime_error("cannot start a worker");
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() { end(); }
  /// @return its port on 127.0.0.1.
  [[nodiscard]] int port() const noexcept { return port_; }

 private:
  void end() const noexcept {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  pid_t pid_ = 0;
  int port_ = 0;
};

}  // namespace shop
