// SPDX-License-Identifier: MIT
// Three web workers get 50 payments, each payment four times at the same moment: a double click, a
// browser that sends again, a proxy that repeats. One worker charges, and all four answers have the
// same receipt. usage: duplicate_submission [url of a store that several processes reach]
#include "process.hpp"
#include "worker.hpp"

#include <httplib.h>
#include <sys/prctl.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <latch>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int payments = 50;
constexpr int copies = 4;

using Workers = std::array<shop::Process, 3>;

struct Answer {
  int status = 0;
  bool replayed = false;
  std::string body;
};

Answer post(const shop::Process& worker, const std::string& key, const std::string& body) {
  httplib::Client browser("127.0.0.1", worker.port());
  const auto result = browser.Post("/payments", {{shop::key_header, key}}, body, "text/plain");
  if (!result) return {};
  return {result->status, result->has_header(shop::replayed_header), result->body};
}

std::string body_of(int payment) {
  return "payment " + std::to_string(payment) + ", " + std::to_string(100 + payment) + " cents";
}

// Each post comes from a browser of its own. All begin at the same moment.
std::vector<Answer> click(const Workers& workers) {
  std::vector<Answer> answers(payments * copies);
  std::latch all(std::ssize(answers));
  std::vector<std::jthread> browsers;
  for (std::size_t at = 0; at < answers.size(); ++at) {
    browsers.emplace_back([&, at] {
      const int payment = static_cast<int>(at) / copies;
      all.arrive_and_wait();
      answers[at] = post(workers[at % workers.size()], std::to_string(payment), body_of(payment));
    });
  }
  browsers.clear();
  return answers;
}

bool charged_once(const std::string& ledger) {
  std::ifstream file(ledger);
  std::multiset<std::string> charges;
  for (std::string line; std::getline(file, line);) charges.insert(line);
  std::cout << charges.size() << " charges\n";
  bool once = charges.size() == payments;
  for (int payment = 0; payment < payments; ++payment) {
    once = once && charges.count(body_of(payment)) == 1;
  }
  return once;
}

bool demonstrate(std::string url, const std::string& directory) {
  if (url.empty()) url = "file://" + directory;
  const std::string ledger = directory + "/ledger";
  const Workers workers{shop::Process(url, ledger), shop::Process(url, ledger),
                        shop::Process(url, ledger)};
  const std::vector<Answer> answers = click(workers);
  int good = 0;
  int replayed = 0;
  for (std::size_t at = 0; at < answers.size(); ++at) {
    const Answer& first = answers[at - at % copies];
    if (answers[at].status == 200 && answers[at].body == first.body) ++good;
    if (answers[at].replayed) ++replayed;
  }
  const int other = post(workers[0], "0", "payment 0, of another amount").status;
  std::cout << answers.size() << " posts of " << payments << " payments: " << good << " receipts, "
            << replayed << " of them replayed\n"
            << "the key of a payment with another amount: " << other << "\n";
  const bool once = charged_once(ledger);
  std::cout << (once ? "each payment charged once\n" : "WRONG: not each payment charged once\n");
  return once && good == payments * copies && replayed == payments * (copies - 1) && other == 422;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc == 4 && std::string(argv[1]) == "--worker") {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // ends this worker if the demonstration ends early
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
