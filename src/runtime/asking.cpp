// SPDX-License-Identifier: MIT
// One question, from the first look at the client to the words about an answer that did not come.
#include "runtime/asking.hpp"

#include <mortise/backend.hpp>

#include "runtime/client_state.hpp"
#include "runtime/open_requests.hpp"
#include "runtime/raise.hpp"

#include <optional>
#include <string>
#include <system_error>

namespace mortise::runtime {
namespace {

/// Nobody waits for an operation any more, whatever has ended that.
class GivenUp {
 public:
  GivenUp(Operation& operation, Errc as) noexcept : operation_(operation), as_(as) {}
  GivenUp(const GivenUp&) = delete;
  GivenUp& operator=(const GivenUp&) = delete;
  ~GivenUp() { operation_.failed({as_, std::string()}); }

 private:
  Operation& operation_;
  const Errc as_;
};

}  // namespace

Failure ask(ClientState& client, Operation& asked, core::Nanos wait, Errc late,
            const std::function<void(Backend&)>& send) {
  if (!client.alive()) return client.closed_failure();
  const OpenRequest open_request(client, asked);
  const GivenUp at_the_end(asked, late);
  // First: a backend that cannot have its connection polled would have to undo half a request.
  if (Failure none = client.prepare_to_ask()) return none;
  try {
    if (!asked.done()) send(client.backend());
    if (client.wait_done(asked, wait)) return asked.failure();
  } catch (const std::system_error& error) {
    return failure_of(error);
  }
  Failure failure = client.why_unanswered(asked);
  if (late != Errc::unavailable) failure.code = late;
  return failure;
}

}  // namespace mortise::runtime
