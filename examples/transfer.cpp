// SPDX-License-Identifier: MIT
// Locks two accounts together: both or neither, within one time limit. It cannot deadlock, although
// another thread transfers in the opposite direction. usage: transfer [url]
#include <mortise/mortise.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <string>
#include <thread>

namespace {

using namespace std::chrono_literals;

struct Account {
  mortise::Lock lock;
  int balance = 1000;
};

// [transfer]
bool transfer(Account& from, Account& to, int amount) {
  const mortise::Guards both = mortise::lock_all({from.lock, to.lock}, {.wait = 10s});
  if (!both) {
    std::cout << both.failed_name() << " is busy: " << both.error().message() << "\n";
    return false;
  }
  from.balance -= amount;
  to.balance += amount;
  return true;
}
// [/transfer]

}  // namespace

int main(int argc, char** argv) try {
  mortise::Client client(argc > 1 ? argv[1] : "memory:");
  Account alice{client.make_lock("accounts/alice")};
  Account bob{client.make_lock("accounts/bob")};
  int failed = 0;
  {
    std::jthread there([&] {
      for (int i = 0; i < 500; ++i) transfer(alice, bob, 2);
    });
    for (int i = 0; i < 500; ++i) failed += transfer(bob, alice, 1) ? 0 : 1;
  }
  std::cout << "alice has " << alice.balance << ", bob has " << bob.balance << "\n";
  return failed == 0 && alice.balance + bob.balance == 2000 ? 0 : 1;
} catch (const std::exception& e) {
  std::cerr << "transfer: " << e.what() << "\n";
  return 1;
}
