// SPDX-License-Identifier: MIT
// Programs that compile and hold nothing, each with the words of the warning that traps.sh expects
// at its line; and the uses that must not get one.
#include <mortise/mortise.hpp>

#include <chrono>

using namespace std::chrono_literals;

void charge();

// A handle holds nothing by itself.
void lock_is_never_taken(mortise::Client& client) {
  auto lock = client.make_lock("x");  // trap: unused variable
  charge();
}
void read_write_lock_is_never_taken(mortise::Client& client) {
  mortise::ReadWriteLock lock = client.make_read_write_lock("x");  // trap: unused variable
  charge();
}
void semaphore_is_never_acquired(mortise::Client& client) {
  auto gateway = client.make_semaphore("x", 3);  // trap: unused variable
  charge();
}
void once_is_never_run(mortise::Client& client) {
  auto payment = client.make_once("x");  // trap: unused variable
  charge();
}
void handle_is_dropped(mortise::Client& client) {
  client.make_lock("x");  // trap: nodiscard
  charge();
}

// What frees by its destructor needs a name.
void guard_ends_at_once(mortise::Lock& lock) {
  mortise::Guard{lock};  // trap: nodiscard
  charge();
}
void guard_with_options_ends_at_once(mortise::Lock& lock) {
  mortise::Guard(lock, {.wait = 1s});  // trap: nodiscard
  charge();
}
void guard_of_a_temporary_ends_at_once(mortise::Client& client) {
  mortise::Guard(client.make_lock("x"));  // trap: nodiscard
  charge();
}
void guard_is_a_declaration(mortise::Lock& lock) {
  {
    mortise::Guard(lock);  // trap: parentheses
    charge();
  }
}
void guard_without_exceptions_ends_at_once(mortise::Lock& lock, std::error_code& ec) {
  mortise::Guard(lock, {}, ec);  // trap: nodiscard
  charge();
}
void guard_with_a_time_ends_at_once(mortise::Lock& lock) {
  mortise::Guard(lock, 1s);  // trap: nodiscard
  charge();
}
void guard_of_a_name_ends_at_once(mortise::Client& client) {
  mortise::Guard(client, "x", {.wait = 1s});  // trap: nodiscard
  charge();
}
void guards_end_at_once(mortise::Lock& lock) {
  mortise::lock_all({lock});  // trap: nodiscard
  charge();
}
void permit_ends_at_once(mortise::Semaphore& gateway) {
  gateway.acquire();  // trap: nodiscard
  charge();
}
void run_ends_at_once(mortise::Once& payment) {
  payment.begin();  // trap: nodiscard
  charge();
}

// Right uses: a guard that is only held, a handle that is used once, a handle that is kept.
void hold(mortise::Client& client) {
  mortise::Lock lock = client.make_lock("x");
  mortise::Guard guard(lock);
  charge();
}
void hold_of_a_temporary(mortise::Client& client) {
  const mortise::Guard guard(client.make_lock("x"), {.wait = 1s});
  charge();
}
void hold_several(mortise::Lock& one, mortise::Lock& other) {
  const mortise::Guards both = mortise::lock_all({one, other});
  charge();
}
void permit(mortise::Client& client) {
  mortise::Semaphore gateway = client.make_semaphore("x", 3);
  const mortise::Permit permit = gateway.acquire();
  charge();
}
mortise::Outcome once(mortise::Client& client) {
  mortise::Once payment = client.make_once("x");
  return payment.run([] { charge(); });
}
mortise::Lock handle(mortise::Client& client) {
  mortise::Lock lock = client.make_lock("x");
  return lock;
}
struct Shop {
  explicit Shop(mortise::Client& client) : lock(client.make_lock("x")) {}
  mortise::Lock lock;
};
