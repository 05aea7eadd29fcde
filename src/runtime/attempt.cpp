// SPDX-License-Identifier: MIT
#include "runtime/attempt.hpp"

#include "runtime/client_state.hpp"

namespace mortise::runtime {

void Attempt::finished() noexcept {
  if ((custody_.fetch_or(completed) & abandoned) == 0) return;
  // Nobody waits: a grant that comes now would be a ghost hold.
  const std::shared_ptr<ClientState> client = client_.lock();
  if (client && grant().number != 0) client->undo(*this);
  custody_.fetch_or(settled_bit);
}

}  // namespace mortise::runtime
