// SPDX-License-Identifier: MIT
// One question, from the first look at the client to the words about an answer that did not come.
#include "runtime/call/asking.hpp"

#include <mortise/backend.hpp>

#include "runtime/client/client_state.hpp"
#include "runtime/client/raise.hpp"

#include <string>
#include <system_error>

namespace mortise::runtime {

Question::Question(StoreAccess& store, Operation& asked, Errc late) noexcept
    : store_(store), open_request_(store.open_requests(), asked), late_(late) {}

// No caller waits for the answer any more, whatever the reason.
Question::~Question() { open_request_.operation.failed({late_, std::string()}); }

Failure Question::send(const std::function<void(Backend&)>& to) {
  // First: a backend that cannot have its connection polled would have to undo half a request.
  if (Failure none = store_.prepare_to_ask()) return none;
  try {
    if (!open_request_.operation.done()) to(store_.backend());
  } catch (const std::system_error& error) {
    return failure_of(error);
  }
  return {};
}

Failure Question::wait(core::Nanos at_most) {
  Operation& asked = open_request_.operation;
  try {
    if (store_.wait_done(asked, at_most)) return asked.failure();
  } catch (const std::system_error& error) {
    return failure_of(error);
  }
  Failure failure = store_.why_unanswered(asked);
  if (late_ != Errc::unavailable) failure.code = late_;
  return failure;
}

Failure ask(ClientState& client, Operation& asked, core::Nanos wait, Errc late,
            const std::function<void(Backend&)>& send) {
  if (!client.alive()) return client.closed_failure();
  Question question(client.store(), asked, late);
  if (Failure none = question.send(send)) return none;
  return question.wait(wait);
}

}  // namespace mortise::runtime
