// SPDX-License-Identifier: MIT
// The same without exceptions: every call has a form with std::error_code. Which codes are worth a
// second try, and what to do where nobody knows what became of a request (`in_doubt`). The store is
// in this process, and is told to misbehave.
#include <mortise/memory.hpp>
#include <mortise/mortise.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <system_error>
#include <thread>

using namespace std::chrono_literals;

namespace {

// [retry]
// Tries again what may succeed by itself: somebody else had the lock (`timeout`), no connection,
// no room, or no answer. What is wrong for good (`denied`, `misconfigured`, ...) comes out at once.
mortise::Guard patient(mortise::Lock& lock, int tries, std::error_code& ec) {
  for (auto pause = 10ms;; pause *= 2) {
    mortise::Guard guard(lock, {.wait = 1s}, ec);
    if (!ec) return guard;
    std::cout << "a try failed: " << guard.error_text() << "\n";
    // After `in_doubt` the library takes back by itself what may have been granted. So there is
    // nothing to undo: the next try is granted as soon as that is done.
    if (mortise::is_ambiguous(ec)) std::cout << "nobody knows, so ask again\n";
    if (!mortise::is_retryable(ec) || --tries == 0) return guard;  // empty
    std::this_thread::sleep_for(pause);
  }
}
// [/retry]

bool demonstrate() {
  mortise::memory::Server server;
  mortise::Client client(server.backend());
  mortise::Lock lock = client.make_lock("stock", {.lease = 600ms});
  server.set_faults({.lose_reply = 1});  // it does what it is told, and nobody hears of it
  std::jthread mend([&server] {
    std::this_thread::sleep_for(1500ms);
    server.set_faults({});
  });
  std::error_code ec;
  const mortise::Guard guard = patient(lock, 5, ec);
  if (!guard) return false;
  std::cout << "held in the end, token " << guard.token().value() << "\n";

  client.close();
  const mortise::Guard none = patient(lock, 5, ec);
  return !none && ec == mortise::Errc::closed;
}

}  // namespace

int main() try { return demonstrate() ? 0 : 1; } catch (const std::exception& e) {
  std::cerr << "error_codes: " << e.what() << "\n";
  return 2;
}
