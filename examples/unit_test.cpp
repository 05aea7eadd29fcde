// SPDX-License-Identifier: MIT
// How to test a service of your own that uses locks: a store inside the test (`memory:`), and a
// clock that the test moves, so that a lease of half a minute is over at once. No server, no sleep.
#include <mortise/memory.hpp>
#include <mortise/mortise.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <memory>
#include <string>

using namespace std::chrono_literals;

namespace {

// The service. It is handed its client, and so does not know which store it is tested with.
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

  clock->advance(31s);  // as if the first instance had stood still
  if (Shipping::may_post(hold)) return false;
  const mortise::Guard next = second.begin("7");
  return next && next.token() > hold.token();
}
// [/test]

}  // namespace

int main() try {
  const bool good = test_of_shipping();
  std::cout << (good ? "the service keeps its promises\n" : "a test failed\n");
  return good ? 0 : 1;
} catch (const std::exception& e) {
  std::cerr << "unit_test: " << e.what() << "\n";
  return 2;
}
