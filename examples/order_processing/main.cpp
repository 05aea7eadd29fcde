// SPDX-License-Identifier: MIT
// Charges each order exactly once, although orders are submitted twice, at the same moment, to
// different processes, and although one process is killed in the middle of a charge. Without locks
// the same program with the same crash does damage. cashier.cpp shows how locks and Once are used.
#include <mortise/mortise.hpp>

#include "audit.hpp"
#include "board.hpp"
#include "cashier.hpp"
#include "comparison.hpp"
#include "ledger.hpp"
#include "options.hpp"
#include "report.hpp"
#include "submissions.hpp"
#include "supervisor.hpp"
#include "worker.hpp"
#include "workspace.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

namespace {

using shop::Options;
using shop::Result;
using shop::With;

constexpr int bad_arguments = 2;
constexpr int interrupted = 130;
using shop::right;
using shop::wrong;

Result run(const Options& options, const std::vector<shop::Submission>& submissions,
           const std::filesystem::path& directory, With what) {
  const bool locks = what != With::nothing;
  const bool remembers = what == With::locks_and_memory;
  std::cout << "\n"
            << (remembers ? "With locks and a memory"
                : locks   ? "With locks"
                          : "Without locks")
            << "\n";
  shop::make_folders(directory);
  const shop::Board board(directory / "board", submissions.size(), shop::Board::How::create);
  shop::Progress progress(std::cout, ::isatty(STDOUT_FILENO) == 1, submissions.size());
  const shop::WorkerRole role{.process = 0, .directory = directory.string(), .locks = locks};
  const shop::Story story = shop::Supervisor(options, role, board, submissions, progress).run();
  const shop::Audit audit = shop::audit(directory, submissions);
  shop::print_table(std::cout, board, options.processes, locks, submissions.size(), story);
  if (locks) {
    shop::print_roles(std::cout, board, remembers);
    shop::print_recovery(std::cout, board, story);
  }
  std::cout << "   " << audit.line() << "\n";
  return {audit, story.killed_at != 0};
}

// Refuses a URL that cannot work, before a worker starts.
With check_store(const std::string& url) {
  mortise::Client client(url);
  client.check(std::chrono::seconds(5));
  return shop::remembers(client) ? With::locks_and_memory : With::locks;
}

// The URL without user and password, for the terminal.
std::string without_credentials(const std::string& url) {
  const std::size_t slashes = url.find("//");
  const std::size_t at =
      url.rfind('@', url.find('/', slashes == std::string::npos ? 0 : slashes + 2));
  if (slashes == std::string::npos || at == std::string::npos || at < slashes) return url;
  return url.substr(0, slashes + 2) + url.substr(at + 1);
}

int demonstrate(Options options) {
  const std::vector<shop::Submission> submissions = shop::read_submissions(options.orders);
  const shop::Workspace workspace(options.keep);
  if (options.url.empty()) options.url = workspace.lock_url();
  const With what = options.only_without_locks ? With::nothing : check_store(options.url);
  std::cout << submissions.size() << " submissions from " << options.orders << ", for "
            << options.processes << " processes of " << options.threads << " threads.\n";
  if (!options.only_without_locks) {
    std::cout << "Locks: " << without_credentials(options.url) << "\n";
  }
  const Result without = run(options, submissions, workspace.path() / "without", With::nothing);
  int code = 0;
  if (options.only_without_locks) {
    code = shop::judge(without, nullptr, what);
  } else {
    const Result with = run(options, submissions, workspace.path() / "with", what);
    code = shop::judge(without, &with, what);
  }
  if (options.keep) std::cout << "The files are in " << workspace.path().string() << "\n";
  return code;
}

int work(const Options& options) {
  // Ends this worker when its supervisor ends.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  return shop::Worker(options).run();
}

bool is_bad_argument(const mortise::Error& error) {
  return error.errc() == mortise::Errc::misconfigured || error.errc() == mortise::Errc::unsupported;
}

}  // namespace

int main(int argc, char** argv) try {
  const Options options = shop::parse_options(std::vector<std::string>(argv + 1, argv + argc));
  if (options.help) {
    std::cout << shop::usage();
    return right;
  }
  return options.worker ? work(options) : demonstrate(options);
} catch (const shop::BadInput& e) {
  std::cerr << "order_processing: " << e.what() << "\n";
  return bad_arguments;
} catch (const mortise::Error& e) {
  std::cerr << "order_processing: " << e.what() << "\n";
  return is_bad_argument(e) ? bad_arguments : wrong;
} catch (const shop::Interrupted&) {
  std::cerr << "\norder_processing: interrupted\n";
  return interrupted;
} catch (const std::exception& e) {
  std::cerr << "order_processing: " << e.what() << "\n";
  return wrong;
}
