// SPDX-License-Identifier: MIT
// The run of a key, for `mortise once`.
#include <mortise/client.hpp>

#include "capture.hpp"
#include "hold.hpp"
#include "status.hpp"

#include <unistd.h>

#include <string>
#include <utility>

namespace mortise::tool {
namespace {

class KeyHold final : public Hold {
 public:
  explicit KeyHold(const Order& order) : order_(order), client_(order.url) {}

  bool take(std::stop_token stop) override {
    OnceOptions options;
    options.keep = order_.command.keep;
    options.fingerprint = order_.command.fingerprint;
    options.wait = order_.command.wait;
    options.lease = order_.command.lease;
    options.label = order_.command.label;
    options.stop = stop;
    Once once = client_.make_once(order_.name, options);
    std::error_code ec;
    run_ = once.begin(ec);
    if (run_) return true;
    if (stop.stop_requested()) return false;
    status_ = ec ? fail(ec, run_.error_text()) : remembered(run_.outcome());
    return false;
  }
  std::chrono::nanoseconds lease() const override {
    return client_.capabilities().effective_lease.value_or(order_.command.lease);
  }
  std::chrono::nanoseconds valid_for() const override { return run_.valid_for(); }
  const std::stop_token& lost() const override { return run_.lost(); }
  std::vector<std::string> environment() const override {
    return {"MORTISE_TOKEN=" + std::to_string(run_.token().value()), "MORTISE_NAME=" + order_.name,
            "MORTISE_RUN=" + std::to_string(run_.number())};
  }
  Capture* capture() noexcept override { return &capture_; }

  int conclude(int command_status) override {
    std::error_code ec;
    Outcome outcome;
    int status = command_status;
    if (command_status == 0 && !capture_.too_long()) {
      outcome = run_.succeed(capture_.text(), ec);
    } else {
      std::string reason = capture_.last_line();
      if (command_status == 0) {
        status = bad_data;
        reason = "the output is longer than " + std::to_string(longest_outcome) + " bytes";
        complain(reason + ", and the run is recorded as a failure",
                 "Let the program write its output to a file, and print the name of the file.");
      } else if (reason.empty()) {
        reason = "status " + std::to_string(command_status);
      }
      outcome = run_.fail(reason, ec);
    }
    if (outcome.lost()) {
      complain("the run of '" + order_.name + "' was lost before its end could be recorded; " +
                   "the program ended with status " + std::to_string(command_status),
               "Find out what the program has done before you run the key again.");
      return hold_lost;
    }
    if (ec) return fail(ec, run_.error_text());
    output_ = capture_.text();
    return status;
  }
  void give_back() noexcept override { run_.give_back(); }
  int print(int status) override {
    if (write_all(STDOUT_FILENO, output_)) return status;
    complain("standard output does not accept the output",
             status == done ? "The output is recorded: the same call prints it again."
                            : "Check the disk, the pipe or the terminal that it leads to.");
    return status == done ? unwritten : status;
  }

 private:
  /// Prints what the store remembers of a key that was not run. @return the status
  int remembered(const Outcome& outcome) {
    switch (outcome.state()) {
      case KeyState::succeeded: output_ = outcome.result(); return done;
      case KeyState::failed:
        complain("the run of '" + order_.name + "' has failed: " + outcome.reason(),
                 "Call it again to run the program again.");
        return nothing_there;
      case KeyState::pending:
      case KeyState::absent: break;
    }
    complain("another client runs '" + order_.name + "'",
             "Call it again later, or wait longer with --wait; 'mortise look' prints who runs it.");
    return busy;
  }

  const Order& order_;
  Client client_;
  Run run_;
  Capture capture_;
  std::string output_{};
};

}  // namespace

std::unique_ptr<Hold> key_hold(const Order& order) { return std::make_unique<KeyHold>(order); }

}  // namespace mortise::tool
