// SPDX-License-Identifier: MIT
// One of several processes leads, and the others stand by. The leader holds the lock, and stops as
// soon as lost() fires. Three candidates are started. The first leader is killed, the next one
// takes over, and resigns when its work is done. usage: leader_election [url]
#include <mortise/mortise.hpp>

#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <stop_token>
#include <string>

namespace {

using namespace std::chrono_literals;

// Sleeps until the next piece of work is due. @return false, at once, if the lead is lost
bool next_tick(const std::stop_token& lost) {
  std::mutex mutex;
  std::condition_variable_any tick;
  std::unique_lock lock(mutex);
  tick.wait_for(lock, lost, 20ms, [] { return false; });
  return !lost.stop_requested();
}

// [leader]
int campaign(const std::string& name, const std::string& url) {
  mortise::Client client(url);
  mortise::Lock lock = client.make_lock("scheduler/leader", {.lease = 1s, .label = name});
  const mortise::Guard term(lock, {.wait = 20s});
  if (!term) return 1;
  std::cout << "leads " << name << " " << term.token().value() << std::endl;
  for (int work = 1; work <= 5; ++work) {
    if (!next_tick(term.lost())) return 1;  // another process may lead now: stop
  }
  std::cout << "resigns " << name << std::endl;
  return 0;
}
// [/leader]

// Three candidates, their standard output, and a directory for their locks if no URL was given.
class Election {
 public:
  explicit Election(std::string url) : url_(std::move(url)) {
    if (url_.empty()) {
      directory_ = std::filesystem::temp_directory_path() / "mortise-leader-XXXXXX";
      if (::mkdtemp(directory_.data()) == nullptr) throw std::runtime_error("no " + directory_);
      url_ = "file://" + directory_;
    }
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    for (std::size_t i = 0; i < pids_.size(); ++i) pids_[i] = start(std::to_string(i + 1), ends[1]);
    ::close(ends[1]);  // so that the output ends when all candidates have ended
    output_ = ::fdopen(ends[0], "r");
  }
  Election(const Election&) = delete;
  Election& operator=(const Election&) = delete;
  ~Election() {
    for (const pid_t pid : pids_) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
    std::fclose(output_);
    std::error_code ignored;
    if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
  }

  /// @return whether one leader followed the other, each with a larger token.
  bool watch() {
    std::string leader;
    std::uint64_t newest = 0;
    int terms = 0;
    std::array<char, 128> line{};
    while (std::fgets(line.data(), line.size(), output_) != nullptr) {
      std::istringstream in(line.data());
      std::string what;
      std::string who;
      std::uint64_t token = 0;
      in >> what >> who >> token;
      if (what == "resigns") {
        std::cout << "candidate " << who << " resigns\n";
        leader.clear();
        continue;
      }
      std::cout << "candidate " << who << " leads, token " << token << "\n";
      if (!leader.empty() || token <= newest) return false;
      leader = who;
      newest = token;
      if (++terms > 1) continue;
      std::cout << "candidate " << who << " is killed\n";
      leader.clear();
      ::kill(pids_.at(std::stoul(who) - 1), SIGKILL);
    }
    return terms == 3 && leader.empty();
  }

 private:
  pid_t start(std::string name, int output) {
    std::string program = "leader_election";
    std::string role = "--candidate";
    std::array<char*, 5> argv{program.data(), role.data(), name.data(), url_.data(), nullptr};
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    pid_t pid = 0;
    // A client does not cross fork(): each candidate is a program of its own.
    const int error =
        ::posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (error != 0) throw std::runtime_error("cannot start a candidate");
    return pid;
  }

  std::string url_;
  std::string directory_;
  std::array<pid_t, 3> pids_{};
  std::FILE* output_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) try {
  if (argc == 4 && std::string(argv[1]) == "--candidate") {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // ends this candidate if the demonstration ends early
    return campaign(argv[2], argv[3]);
  }
  const bool right = Election(argc > 1 ? argv[1] : "").watch();
  std::cout << (right ? "three terms, one leader at a time\n" : "the election went wrong\n");
  return right ? 0 : 1;
} catch (const std::exception& e) {
  std::cerr << "leader_election: " << e.what() << "\n";
  return 1;
}
