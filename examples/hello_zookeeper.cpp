// SPDX-License-Identifier: MIT
// The first lock on ZooKeeper. The session is the lease of every hold, and the servers decide how
// long it is. So a service checks at its start that the session is not longer than it can wait.
// usage: hello_zookeeper zookeeper://127.0.0.1/locks?session=10s
#include <mortise/mortise.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <string>

using namespace std::chrono_literals;

namespace {

// [zookeeper]
int greet(const std::string& url) {
  mortise::Client client(url);
  client.check(10s);  // creates the session: now its timeout is known

  const auto session = client.capabilities().effective_lease;
  if (!session || *session > 30s) {
    std::cerr << "the session timeout of the servers is longer than this service can wait\n";
    return 1;
  }
  std::cout << "after a crash the name is free after " << session->count()
            << " ms, and some ticks\n";

  // The lock is the node /locks/greeting.
  mortise::Lock lock = client.make_lock("greeting", {.label = "hello"});
  mortise::Guard guard(lock, {.wait = 3s});
  if (!guard) {
    std::cout << guard.error_text() << "\n";
    return 1;
  }
  std::cout << "held, token " << guard.token().value() << "\n";
  return guard.unlock() == mortise::Released::released ? 0 : 1;
}
// [/zookeeper]

}  // namespace

int main(int argc, char** argv) try {
  return greet(argc > 1 ? argv[1] : "zookeeper://127.0.0.1/locks");
} catch (const std::exception& e) {
  std::cerr << "hello_zookeeper: " << e.what() << "\n";
  return 2;
}
