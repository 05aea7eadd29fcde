// SPDX-License-Identifier: MIT
// Requests that close() completes in the server's place.
#include "runtime/open_requests.hpp"

#include "runtime/client_state.hpp"

namespace mortise::runtime {

OpenRequest::OpenRequest(ClientState& state, Operation& asked) noexcept
    : client(state), operation(asked) {
  client.open_requests().add(*this);
  // Listed first, then looked: close() sets its mark first, and then ends those in the list.
  if (!client.alive()) client.end(operation);
}

OpenRequest::~OpenRequest() { client.open_requests().remove(*this); }

}  // namespace mortise::runtime
