// SPDX-License-Identifier: MIT
#include "runtime/shared_name.hpp"

#include "runtime/client_state.hpp"

namespace mortise::runtime {

std::shared_ptr<Attempt> SharedName::new_attempt(const core::Terms& terms, bool wait) const {
  return std::make_shared<Attempt>(Acquisition::Request{.attempt = client->new_attempt_id(),
                                                        .name = name,
                                                        .mode = Mode::exclusive,
                                                        .lease = terms.lease,
                                                        .label = terms.label,
                                                        .wait = wait},
                                   client);
}

HoldId SharedName::hold_id(const core::Hold& hold) const {
  return {.name = name, .attempt = hold.attempt, .number = hold.number, .mode = Mode::exclusive};
}

}  // namespace mortise::runtime
