// SPDX-License-Identifier: MIT
// Orders arrive in lists of Redis, each order twice, and three processes charge them. Each order is
// charged once: a set refuses an order that was accepted before. A lock lets one worker at a time
// take orders from a list, so that the orders of a customer keep their sequence. Once remembers
// which orders are done, although a worker is killed between a charge and the record of it. usage:
// order_intake <host:port, or the path of a socket> [url of another store for locks]
#include "intake.hpp"

#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int orders = 60;
constexpr int copies = 2;
constexpr int workers = 3;
constexpr const char* dies_over = "customer 5, order 37";

std::string order_of(int number) {
  return "customer " + std::to_string(number % 8) + ", order " + std::to_string(number);
}

int counter_of(int number) { return number % 8 % shop::counters; }

// A forked child cannot use its parent's client, so each worker is a program of its own.
pid_t start(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  if (::posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, argv.data(), environ) != 0) {
    throw std::runtime_error("cannot start a worker");
  }
  return pid;
}

/// Submits all orders, each `copies` times, at once. @return how many were accepted
int submit_all(const std::string& where, const std::string& url, const std::string& day) {
  std::atomic<int> accepted{0};
  std::vector<std::jthread> browsers;
  for (int copy = 0; copy < copies; ++copy) {
    browsers.emplace_back([&] {
      shop::Intake intake{mortise::Client(url), shop::Redis(where), day};
      for (int number = 0; number < orders; ++number) {
        if (shop::submit(intake, counter_of(number), order_of(number))) ++accepted;
      }
    });
  }
  browsers.clear();
  return accepted;
}

/// @return whether the bank has charged each order once, and in sequence.
bool each_once(shop::Intake& intake) {
  bool right = true;
  for (int counter = 0; counter < shop::counters; ++counter) {
    std::vector<std::string> due;
    for (int number = 0; number < orders; ++number) {
      if (counter_of(number) == counter) due.push_back(order_of(number));
    }
    right =
        right && intake.redis.ask({"LRANGE", intake.name("charges", counter), "0", "-1"}) == due;
  }
  return right;
}

bool demonstrate(const std::string& where, const std::string& url) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::string day = "intake-" + std::to_string(now.count());
  shop::Intake intake{mortise::Client(url), shop::Redis(where), day};
  std::vector<pid_t> running;
  for (int i = 0; i < workers; ++i) {
    running.push_back(start({"order_intake", "--worker", where, url, day}));
  }
  const int accepted = submit_all(where, url, day);
  intake.redis.ask({"SET", intake.name("closed"), "yes", "EX", "3600"});
  int killed = 0;
  int done = 0;
  for (const pid_t pid : running) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) ++killed;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) ++done;
  }
  const bool right = each_once(intake);
  std::cout << orders * copies << " submissions of " << orders << " orders: " << accepted
            << " accepted; workers: " << killed << " killed, " << done << " done\n"
            << (right ? "each order charged once, and in sequence\n" : "the charges are WRONG\n");
  return right && accepted == orders && killed == 1 && done == workers - 1;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 4 && words[0] == "--worker") {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // ends this worker if the demonstration ends early
    shop::Intake intake{mortise::Client(words[2]), shop::Redis(words[1]), words[3]};
    shop::work(intake, dies_over);
    return 0;
  }
  if (words.empty() || words.size() > 2) {
    std::cerr << "usage: order_intake <host:port, or the path of a socket> [url]\n";
    return 2;
  }
  const std::string scheme = words[0].starts_with("/") ? "redis+unix://" : "redis://";
  return demonstrate(words[0], words.size() > 1 ? words[1] : scheme + words[0]) ? 0 : 1;
} catch (const std::exception& e) {
  std::cerr << "order_intake: " << e.what() << "\n";
  return 1;
}
