// SPDX-License-Identifier: MIT
// Why a lock needs a fencing token. A holder checks that it holds the lock, and is paused. Its
// lease ends, and another holder takes the lock. Then the first holder continues, and writes. No
// lock can prevent that write, but the database can refuse it. The program moves the clock of a
// store in memory, so the pause happens in every run.
#include <mortise/memory.hpp>
#include <mortise/mortise.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <memory>
#include <semaphore>
#include <stop_token>
#include <string>

using namespace std::chrono_literals;

namespace {

// [store]
// A database does the same: `UPDATE report SET text = :text, fence = :token WHERE fence <= :token`.
class Store {
 public:
  [[nodiscard]] bool write(const std::string& text, mortise::Token token) {
    if (token < newest_) return false;
    newest_ = token;
    text_ = text;
    return true;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  mortise::Token newest_;
  std::string text_;
};
// [/store]

// A thread of the client requests the stop, a little after the clock was moved.
bool wait_until_lost(const mortise::Guard& guard) {
  std::binary_semaphore requested(0);
  const std::stop_callback callback(guard.lost(), [&requested] { requested.release(); });
  return requested.try_acquire_for(5s);
}

bool demonstrate() {
  const auto clock = std::make_shared<mortise::ManualClock>();
  mortise::memory::Server server(clock);
  mortise::Client first(server.backend(), {.clock = clock});
  mortise::Client second(server.backend(), {.clock = clock});
  const mortise::LockOptions options{.lease = 10s, .renew = false};
  mortise::Lock first_lock = first.make_lock("report", options);
  mortise::Lock second_lock = second.make_lock("report", options);
  Store store;

  mortise::Guard early(first_lock);
  std::cout << "first:  has the lock, token " << early.token().value() << "\n";
  if (early.valid_for() < 5s || !store.write("first, in time", early.token())) return false;
  std::cout << "first:  has more than 5 s left, and begins another write; here it is paused\n";
  clock->advance(11s);

  mortise::Guard late(second_lock, {.wait = 1s});
  if (!late || !store.write("second", late.token())) return false;
  std::cout << "second: has the lock, token " << late.token().value() << ", and writes\n";

  const bool refused = !store.write("first, too late", early.token());
  std::cout << "first:  wakes up, its write goes out: " << (refused ? "refused" : "ACCEPTED")
            << "\n";
  const bool noticed = wait_until_lost(early);
  std::cout << "first:  notices that its hold is lost, valid for " << early.valid_for().count()
            << " ns\n";
  std::cout << "store:  \"" << store.text() << "\"\n";
  return refused && noticed && store.text() == "second" &&
         early.unlock() == mortise::Released::was_lost;
}

}  // namespace

int main() try { return demonstrate() ? 0 : 1; } catch (const std::exception& e) {
  std::cerr << "fencing: " << e.what() << "\n";
  return 1;
}
