// SPDX-License-Identifier: MIT
// Nothing here blocks. Work that is left makes the descriptor readable.
#include "runtime/engine/loop.hpp"

#include "runtime/client/client_state.hpp"

#include <chrono>
#include <exception>
#include <optional>
#include <utility>

namespace mortise::runtime {
namespace {

// An answer may be there at once. But a server that answers without end must not keep the program's
// thread.
constexpr int most_rounds = 8;
constexpr std::chrono::milliseconds pause_after_failed_look{10};

}  // namespace

Loop::Loop(ClientState& client)
    : client_(client),
      descriptor_(client.store().engine().make_loop_descriptor()),
      delivery_(client.store().engine(), client.store().ready()) {}

std::size_t Loop::poll(std::size_t at_most) noexcept {
  // A handler that calls it would run other handlers inside of itself.
  if (polling_.exchange(true)) {
    look();
    return 0;
  }
  // A handler may destroy the client.
  std::shared_ptr<ClientState> keep = client_.shared_from_this();
  std::size_t ran = 0;
  {
    const ReadyList::Driving driving(keep->store().ready());
    bool looked = look();
    const bool notified = notify();
    if (!keep->forked()) ran = delivery_.run(at_most);
    // The requests of callbacks and handlers leave now.
    if (ran > 0 || notified) looked = look();
    polling_.store(false);
    // Another thread may have added handlers as this one was about to leave.
    const bool is_left = !keep->forked() && (!looked || has_code_to_run());
    if (is_left) keep->store().engine().interrupt();
  }
  drop(std::move(keep));
  return ran;
}

bool Loop::look() noexcept {
  if (client_.forked()) return false;  // in a handler, which goes on in the child as well
  if (looking_.exchange(true)) return false;
  const ReadyList::Driving driving(client_.store().ready());
  bool again = true;
  try {
    for (int round = 0; again && round < most_rounds; ++round) again = look_once();
  } catch (const std::exception&) {
    // Out of memory, or a backend that throws: whatever was due is still due, in a moment.
    again = false;
    client_.store().engine().pause_loop(pause_after_failed_look);
  }
  looking_.store(false);
  if (client_.forked()) return false;
  // Outside of poll() no code of the program runs after this.
  if (again || (!polling_.load() && has_code_to_run())) client_.store().engine().interrupt();
  return true;
}

bool Loop::has_code_to_run() const noexcept {
  return delivery_.waits() || client_.announcements().waits();
}

bool Loop::look_once() {
  const std::optional<Instant> until = client_.store().background().look();
  if (client_.forked()) return false;
  if (!until) {
    // Calls that were rung as the client was closed. A thread that closes it rings the rest after
    // its end, and a program that sees that end may not poll again.
    client_.store().ready().ring_all();
    if (client_.store().ready().run()) descriptor_->watch({});
    return false;
  }
  client_.store().engine().sleep_through(*descriptor_, *until);
  return *until <= client_.now() || descriptor_->is_readable();
}

bool Loop::notify() noexcept { return client_.announcements().run_here(); }

}  // namespace mortise::runtime
