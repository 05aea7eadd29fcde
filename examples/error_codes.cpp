// SPDX-License-Identifier: MIT
// Mortise without exceptions: every call has a form with std::error_code. Shows which codes are
// worth another try, and what to do if the result of a request is not known (`in_doubt`). The store
// is in this process and loses its replies.
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
// Repeats what may succeed later: another owner has the lock (`timeout`), the store cannot be
// reached, has no room, or does not answer. Returns other errors, such as `denied`, at once.
mortise::Guard patient(mortise::Lock& lock, int tries, std::error_code& ec) {
  for (auto pause = 10ms;; pause *= 2) {
    mortise::Guard guard(lock, {.wait = 1s}, ec);
    if (!ec) return guard;
    std::cout << "a try failed: " << guard.error_text() << "\n";
    // After `in_doubt` the library takes back what the store may have granted. The caller has
    // nothing to undo, and the next try succeeds as soon as the library has done that.
    if (mortise::is_ambiguous(ec)) std::cout << "the result is not known: try again\n";
    if (!mortise::is_retryable(ec) || --tries == 0) return guard;  // empty
    std::this_thread::sleep_for(pause);
  }
}
// [/retry]

bool demonstrate() {
  mortise::memory::Server server;
  mortise::Client client(server.backend());
  mortise::Lock lock = client.make_lock("stock", {.lease = 600ms});
  server.set_faults({.lose_reply = 1});  // executes each request, and loses the reply
  std::jthread repair([&server] {
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
