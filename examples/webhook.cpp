// SPDX-License-Identifier: MIT
// A payment provider sends an event to our webhook, and sends it again until it gets a 200. The
// event is handled once, and each delivery gets an answer that the provider understands.
// usage: webhook [url of a store that has Once, such as redis://127.0.0.1]
#include <mortise/mortise.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <iostream>
#include <latch>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

/// The orders of the shop. It marks one as paid while three other deliveries get their answers.
struct Orders {
  std::atomic<int> paid{0};
  std::latch others{3};

  void mark_paid(const std::string& /*body*/) {
    others.wait();
    ++paid;
  }
};

// [webhook]
/// Handles POST /webhook. @return the HTTP status; the provider sends again after 409 and 503
int receive(mortise::Client& client, Orders& orders, const std::string& id,
            const std::string& body) try {
  mortise::Once event = client.make_once(
      "webhook/" + id, {.keep = 7 * 24h, .fingerprint = body.substr(0, 128), .wait = 0s});
  const mortise::Outcome outcome = event.run([&] { orders.mark_paid(body); });
  return outcome ? 200 : 409;  // 409: another copy of the service handles the event now
} catch (const mortise::Error& error) {
  return error.errc() == mortise::Errc::mismatch ? 422 : 503;  // 422: the same id, another body
} catch (const std::exception&) {
  return 503;  // mark_paid() failed: the failure is recorded, and the next delivery runs it again
}
// [/webhook]

}  // namespace

int main(int argc, char** argv) try {
  mortise::Client client(argc > 1 ? argv[1] : "memory:");
  Orders orders;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::string id = "evt_" + std::to_string(now.count());  // each demonstration has its own
  std::array<std::atomic<int>, 600> answers{};
  std::vector<std::jthread> deliveries;
  for (int i = 0; i < 4; ++i) {
    deliveries.emplace_back([&] {
      const int status = receive(client, orders, id, "order 42 is paid");
      ++answers.at(static_cast<std::size_t>(status));
      if (status != 200) orders.others.count_down();
    });
  }
  deliveries.clear();
  std::cout << "4 deliveries at once: " << answers[200] << " x 200, " << answers[409] << " x 409\n"
            << "a later delivery: " << receive(client, orders, id, "order 42 is paid") << "\n"
            << "the same id with another body: " << receive(client, orders, id, "order 43") << "\n"
            << "marked as paid: " << orders.paid << " time\n";
  return orders.paid == 1 ? 0 : 1;
} catch (const std::exception& e) {
  std::cerr << "webhook: " << e.what() << "\n";
  return 2;
}
