// SPDX-License-Identifier: MIT
// Three web workers get 50 payments, each of them four times and at once: a double click, a browser
// that sends again, a proxy that is impatient. One worker charges, all four answers are the same
// receipt. usage: duplicate_submission [url of a store that several processes reach]
#include "worker.hpp"

#include <fcntl.h>
#include <httplib.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int payments = 50;
constexpr int copies = 4;
constexpr int browsers = 20;

/// A worker in a process of its own: a client of Mortise does not cross fork().
class Worker {
 public:
  Worker(std::string url, std::string ledger) {
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
    if (port_ == 0) throw std::runtime_error("cannot start a worker");
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] int port() const noexcept { return port_; }

 private:
  pid_t pid_ = 0;
  int port_ = 0;
};

struct Answer {
  int status = 0;
  bool replayed = false;
  std::string body;
};

Answer post(const Worker& worker, const std::string& key, const std::string& body) {
  httplib::Client browser("127.0.0.1", worker.port());
  const auto result = browser.Post("/payments", {{shop::key_header, key}}, body, "text/plain");
  if (!result) return {};
  return {result->status, result->has_header(shop::replayed_header), result->body};
}

std::string body_of(int payment) {
  return "payment " + std::to_string(payment) + ", " + std::to_string(100 + payment) + " cents";
}

// Copy after copy of each payment is next in line, so that those of one payment are on their way
// together, to different workers.
std::vector<Answer> click(const std::array<Worker, 3>& workers) {
  std::vector<Answer> answers(payments * copies);
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < browsers; ++i) {
    threads.emplace_back([&] {
      for (std::size_t at = next++; at < answers.size(); at = next++) {
        const int payment = static_cast<int>(at) / copies;
        answers[at] = post(workers[at % workers.size()], std::to_string(payment), body_of(payment));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return answers;
}

bool demonstrate(std::string url, const std::string& directory) {
  if (url.empty()) url = "file://" + directory;
  const std::string ledger = directory + "/ledger";
  const std::array<Worker, 3> workers{Worker(url, ledger), Worker(url, ledger),
                                      Worker(url, ledger)};
  const std::vector<Answer> answers = click(workers);
  int good = 0;
  int replayed = 0;
  for (std::size_t at = 0; at < answers.size(); ++at) {
    const Answer& first = answers[at - at % copies];
    if (answers[at].status == 200 && answers[at].body == first.body) ++good;
    if (answers[at].replayed) ++replayed;
  }
  std::ifstream file(ledger);
  std::multiset<std::string> charges;
  for (std::string line; std::getline(file, line);) charges.insert(line);
  bool once = true;
  for (int payment = 0; payment < payments; ++payment) {
    once = once && charges.count(body_of(payment)) == 1;
  }
  const int other = post(workers[0], "0", "payment 0, of another amount").status;
  std::cout << answers.size() << " posts of " << payments << " payments: " << charges.size()
            << " charges, " << good << " receipts, " << replayed << " of them replayed\n"
            << "the key of a payment with another amount: " << other << "\n"
            << (once ? "each payment charged once\n" : "WRONG: not each payment charged once\n");
  return once && charges.size() == payments && good == payments * copies &&
         replayed == payments * (copies - 1) && other == 422;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc == 4 && std::string(argv[1]) == "--worker") {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a worker does not outlive the demonstration
    return shop::serve(argv[2], argv[3]);
  }
  std::string directory = std::filesystem::temp_directory_path() / "mortise-shop-XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) throw std::runtime_error("no " + directory);
  const bool right = demonstrate(argc > 1 ? argv[1] : "", directory);
  std::filesystem::remove_all(directory);
  return right ? 0 : 1;
} catch (const std::exception& e) {
  std::cerr << "duplicate_submission: " << e.what() << "\n";
  return 1;
}
