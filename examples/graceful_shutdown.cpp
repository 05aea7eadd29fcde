// SPDX-License-Identifier: MIT
// A service that ends in good order at SIGTERM: waits for locks end at once, the work under a lock
// is finished, and the client releases what is left. The program sends the signal to itself here.
// order_service/main.cpp does the same with an HTTP server. usage: graceful_shutdown [url]
#include <mortise/mortise.hpp>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <exception>
#include <iostream>
#include <stop_token>
#include <system_error>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

std::atomic<int> shipped{0};
std::atomic<int> refused{0};

/// The work. Here it takes until the other three requests have been refused.
void ship() {
  while (refused < 3) std::this_thread::sleep_for(5ms);
  ++shipped;
}

// [request]
void handle(mortise::Client& client, const std::stop_token& shutdown) {
  std::error_code ec;
  const mortise::Guard guard(client, "orders/42", {.wait = 30s, .stop = shutdown}, ec);
  if (guard) return ship();  // runs to its end
  ++refused;  // answer 503, with guard.error_text(): `cancelled`, `timeout`, `unavailable`, ...
}
// [/request]

// [shutdown]
void serve(mortise::Client& client, const sigset_t& signals) {
  std::stop_source shutdown;
  std::vector<std::jthread> requests;
  for (int i = 0; i < 4; ++i) {
    requests.emplace_back([&] { handle(client, shutdown.get_token()); });
  }
  int signal = 0;
  sigwait(&signals, &signal);  // main() blocks SIGTERM in all threads, so it arrives here
  shutdown.request_stop();     // 1. waits end with `cancelled`, including waits that begin later
  requests.clear();            // 2. joins the threads: the holder ships, and unlocks
  client.close();              // 3. releases what is still held
}
// [/shutdown]

// Operations: SIGTERM, once one request has the lock and three wait for it.
void terminate_service(const mortise::Client& client) {
  for (;;) {
    for (const mortise::Snapshot::Name& name : client.snapshot().names) {
      if (name.holds.size() != 1 || name.waiters.size() != 3) continue;
      ::kill(::getpid(), SIGTERM);
      return;
    }
    std::this_thread::sleep_for(5ms);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before the first thread is started
  mortise::Client client(argc > 1 ? argv[1] : "memory:");
  const std::jthread operations([&] { terminate_service(client); });
  serve(client, signals);
  std::cout << shipped << " request finished, " << refused << " waits cancelled\n";
  return shipped == 1 && refused == 3 ? 0 : 1;
} catch (const std::exception& e) {
  std::cerr << "graceful_shutdown: " << e.what() << "\n";
  return 2;
}
