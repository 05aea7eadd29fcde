// SPDX-License-Identifier: MIT
// A unit test of a service that uses locks. The store is inside the test (`memory:`), and the test
// moves the clock, so a lease of half a minute ends at once. It needs no server and no sleep.
#include <mortise/memory.hpp>
#include <mortise/mortise.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <memory>
#include <string>

using namespace std::chrono_literals;

namespace {

// The service. It gets its client from outside, so a test can give it another store.
class Shipping {
 public:
  explicit Shipping(mortise::Client& client) : client_(client) {}

  mortise::Guard begin(const std::string& order) {
    mortise::Lock lock = client_.make_lock("ship/" + order, {.lease = 30s});
    return mortise::Guard(lock, {.wait = 0s});
  }
  // @return whether it may still post the parcel
  static bool may_post(const mortise::Guard& hold) { return hold.valid_for() > 5s; }

 private:
  mortise::Client& client_;
};

// [test]
bool test_of_shipping() {
  const auto clock = std::make_shared<mortise::ManualClock>();
  mortise::memory::Server server(clock);
  mortise::Client here(server.backend(), {.clock = clock});  // two instances of the service
  mortise::Client there(server.backend(), {.clock = clock});
  Shipping first(here);
  Shipping second(there);

  const mortise::Guard hold = first.begin("7");
  if (!hold || !Shipping::may_post(hold)) return false;
  if (second.begin("7").error() != mortise::Errc::timeout) return false;  // busy
  if (!second.begin("8")) return false;                                   // another order

  clock->advance(31s);  // the lease ends, as if the first instance had been stopped
  if (Shipping::may_post(hold)) return false;
  const mortise::Guard next = second.begin("7");
  return next && next.token() > hold.token();
}
// [/test]

}  // namespace

int main() try {
  const bool good = test_of_shipping();
  std::cout << (good ? "all checks passed\n" : "a test failed\n");
  return good ? 0 : 1;
} catch (const std::exception& e) {
  std::cerr << "unit_test: " << e.what() << "\n";
  return 2;
}
