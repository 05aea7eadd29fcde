// SPDX-License-Identifier: MIT
#include "runtime/call/pending_conclusion.hpp"

#include "runtime/hold/open_run.hpp"
#include "runtime/hold/slot.hpp"

#include <utility>

namespace mortise::runtime {

PendingConclusion::PendingConclusion(const std::shared_ptr<OpenRun>& open, KeyState state,
                                     std::string_view bytes)
    : PendingCall(open->slot().client().shared_from_this()), call_(open, state, bytes) {}

void PendingConclusion::discard() noexcept {
  // There may be no memory for the message of a failure. No code reads this message.
  static_cast<void>(tried([this] {
    call_.begin(nullptr);  // the ready list has no call that never began
    call_.hurry();
    Failure unread;
    call_.run(unread);
  }));
}

void PendingConclusion::deliver(detail::Handler* handler) noexcept {
  Outcome outcome;
  attempt([&] {
    Failure why;
    outcome = call_.end(why);
    fails(std::move(why));
  });
  if (failure() && !outcome.error()) outcome = call_.unknown(failure().code);
  hand_over(handler, &outcome);
}

}  // namespace mortise::runtime
