// SPDX-License-Identifier: MIT
// Five instances of a service wake up at midnight, and one of them sends the mail of the day. It is
// killed in the middle. The next one knows that it is not the first, finds out which readers
// already have their mail, and sends the rest. The others get its result. usage: scheduled_job [url
// of a store that several processes reach]
#include <mortise/mortise.hpp>

#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <string>

namespace {

using namespace std::chrono_literals;

constexpr std::array<const char*, 5> readers{"ada", "barbara", "edsger", "grace", "leslie"};
constexpr int did_the_work = 10;
constexpr int got_the_result = 11;

// The mail that has been sent, one line each. A process that dies leaves a whole line or none.
class Outbox {
 public:
  explicit Outbox(std::string path) : path_(std::move(path)) {}
  void send(const std::string& reader) const {
    const int file = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    const std::string line = reader + "\n";
    const bool sent = ::write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
    ::close(file);
    if (!sent) throw std::runtime_error("cannot send mail");
  }
  [[nodiscard]] std::multiset<std::string> sent() const {
    std::ifstream file(path_);
    return {std::istream_iterator<std::string>(file), {}};
  }

 private:
  std::string path_;
};

// [job]
int wake_up(const std::string& url, const std::string& day, const Outbox& outbox) {
  mortise::Client client(url);
  mortise::Once job =
      client.make_once("nightly mail/" + day, {.keep = 48h, .wait = 60s, .lease = 2s});
  const mortise::Outcome outcome = job.run([&](mortise::Run& run) {
    std::multiset<std::string> before;
    if (run.number() > 1) before = outbox.sent();
    for (const char* const reader : readers) {
      if (before.contains(reader)) continue;
      outbox.send(reader);
      // The first instance dies here, after it has sent a part of the mail.
      if (run.number() == 1 && reader == readers[1]) ::raise(SIGKILL);
    }
    return "all mail is out, by run " + std::to_string(run.number());
  });
  return outcome.replayed() ? got_the_result : did_the_work;
}
// [/job]

// A client does not cross fork(): each instance is a program of its own.
pid_t start(std::string url, std::string day, std::string outbox) {
  std::string program = "scheduled_job";
  std::array<char*, 5> argv{program.data(), url.data(), day.data(), outbox.data(), nullptr};
  pid_t pid = 0;
  if (::posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, argv.data(), environ) != 0) {
    throw std::runtime_error("cannot start an instance");
  }
  return pid;
}

int end_of(pid_t pid) {
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

bool demonstrate(std::string url) {
  std::string directory = std::filesystem::temp_directory_path() / "mortise-job-XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) throw std::runtime_error("no " + directory);
  if (url.empty()) url = "file://" + directory;
  const std::string day = std::to_string(std::time(nullptr));  // each demonstration has its own
  const std::string mail = directory + "/outbox";
  std::array<pid_t, 5> instances{};
  for (pid_t& pid : instances) pid = start(url, day, mail);
  std::map<int, int> ends;
  for (const pid_t pid : instances) ++ends[end_of(pid)];
  const bool late_one_is_right = end_of(start(url, day, mail)) == got_the_result;
  const std::multiset<std::string> sent = Outbox(mail).sent();
  std::filesystem::remove_all(directory);
  std::cout << "instances: " << ends[-SIGKILL] << " killed in the middle, " << ends[did_the_work]
            << " did the work, " << ends[got_the_result] << " got its result\n"
            << "a late instance: " << (late_one_is_right ? "got the result too\n" : "WRONG\n");
  const bool each_once = sent == std::multiset<std::string>(readers.begin(), readers.end());
  std::cout << "mail: " << sent.size() << " sent to " << readers.size() << " readers"
            << (each_once ? ", one each\n" : ": WRONG\n");
  return each_once && late_one_is_right && ends[-SIGKILL] == 1 && ends[did_the_work] == 1 &&
         ends[got_the_result] == 3;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc == 4) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // ends this instance if the demonstration ends early
    return wake_up(argv[1], argv[2], Outbox(argv[3]));
  }
  return demonstrate(argc > 1 ? argv[1] : "") ? 0 : 1;
} catch (const std::exception& e) {
  std::cerr << "scheduled_job: " << e.what() << "\n";
  return 1;
}
