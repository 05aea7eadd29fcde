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
    options.keep = order_.keep;
    options.fingerprint = order_.fingerprint;
    options.wait = order_.wait;
    options.lease = order_.lease;
    options.label = order_.label;
    options.stop = stop;
    Once once = client_.make_once(order_.name, options);
    std::error_code ec;
    run_ = once.begin(ec);
    if (run_) return true;
    if (stop.stop_requested()) return false;
    status_ = ec ? status_of(ec) : tell(run_.outcome());
    if (ec) complain(run_.error_text());
    return false;
  }
  std::chrono::nanoseconds lease() const override {
    return client_.capabilities().effective_lease.value_or(order_.lease);
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
        reason = "its output is longer than " + std::to_string(longest_outcome) + " bytes";
        complain(reason + ": it is not remembered, and the run is a failure");
      } else if (reason.empty()) {
        reason = "status " + std::to_string(command_status);
      }
      outcome = run_.fail(reason, ec);
    }
    if (outcome.lost()) {
      complain("'" + order_.name + "' was lost, and nothing is recorded; the command ended with " +
               "status " + std::to_string(command_status));
      return hold_lost;
    }
    if (ec) {
      complain(run_.error_text());
      return status_of(ec);
    }
    output_ = capture_.text();
    return status;
  }
  void give_back() noexcept override { run_.give_back(); }
  int print(int status) override {
    if (write_all(STDOUT_FILENO, output_)) return status;
    complain("the output cannot be printed");
    return status == done ? unwritten : status;
  }

 private:
  /// What is remembered of a key that was not run.
  int tell(const Outcome& outcome) {
    switch (outcome.state()) {
      case KeyState::succeeded: output_ = outcome.result(); return done;
      case KeyState::failed: complain("it has failed: " + outcome.reason()); return nothing_there;
      case KeyState::pending:
      case KeyState::absent: break;
    }
    complain("'" + order_.name + "' is being run by somebody else");
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
