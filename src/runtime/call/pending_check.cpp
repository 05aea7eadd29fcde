// SPDX-License-Identifier: MIT
#include "runtime/call/pending_check.hpp"

#include <mortise/backend.hpp>

#include "runtime/client/client_state.hpp"

#include <string>
#include <utility>

namespace mortise::runtime {

void PendingCheck::begin() {
  check_ = client().new_check();
  check_->wake_through(weak_from_this());
  question_.emplace(client().store(), *check_, Errc::unavailable);
  until_ = later(BootClock::now(), wait_);
}

bool PendingCheck::step() {
  if (!sent_) {
    sent_ = true;
    fails(question_->send([this](Backend& backend) { backend.check(check_); }));
    if (failure()) return true;
  }
  const bool done = check_->done();
  if (!done && !is_given_up() && client().alive() && BootClock::now() < until_) return false;
  if (done) {
    fails(check_->failure());
  } else if (is_given_up()) {
    fails({Errc::cancelled, std::string()});
  } else {
    fails(client().alive() ? client().store().why_unanswered(*check_) : client().closed_failure());
  }
  return true;
}

void PendingCheck::deliver(detail::Handler* handler) noexcept {
  question_.reset();
  Failure result;
  result.code = failure().code;
  static_cast<void>(tried([&] { result.text = failure().text; }));
  hand_over(handler, &result);
}

}  // namespace mortise::runtime
