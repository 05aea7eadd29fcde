// SPDX-License-Identifier: MIT
// One thread takes a lock and another thread frees it, as thread pools and coroutines need. The job
// has an owner of its own, or the guard moves along. usage: handover [url]
#include <mortise/mortise.hpp>

#include <exception>
#include <iostream>
#include <string>
#include <thread>
#include <utility>

namespace {

// [owner]
// The owner goes with the job. The thread that works on the job passes this owner.
struct Job {
  std::string invoice;
  mortise::Owner owner;
};

void finish(mortise::Lock& lock, const Job& job) {
  // The same owner re-enters at once. No request goes to the server.
  mortise::Guard again(lock, {.owner = job.owner});
  std::cout << job.invoice << ": sent by the worker, hold count " << lock.hold_count(job.owner)
            << "\n";
  again.unlock();
  lock.unlock(job.owner);  // ends the hold that the accepting thread took
}

void by_owner(mortise::Client& client) {
  mortise::Lock lock = client.make_lock("invoices/7");
  const Job job{.invoice = "invoice 7", .owner = mortise::Owner::unique()};
  if (!lock.acquire({.owner = job.owner})) return;
  std::cout << job.invoice << ": accepted, token " << lock.token(job.owner).value() << "\n";
  std::jthread worker([&] { finish(lock, job); });
}
// [/owner]

// [guard]
// Any thread may destroy a guard: the guard frees the hold that it took.
void by_guard(mortise::Client& client) {
  mortise::Lock lock = client.make_lock("invoices/8");
  mortise::Guard guard(lock);
  std::jthread worker([hold = std::move(guard)] {
    std::cout << "invoice 8: sent by the worker, token " << hold.token().value() << "\n";
  });
}
// [/guard]

bool is_free(mortise::Client& client, const std::string& name) {
  mortise::Lock lock = client.make_lock(name);
  return !lock.holder();
}

}  // namespace

int main(int argc, char** argv) try {
  mortise::Client client(argc > 1 ? argv[1] : "memory:");
  by_owner(client);
  by_guard(client);
  const bool free = is_free(client, "invoices/7") && is_free(client, "invoices/8");
  std::cout << (free ? "both locks are free again\n" : "a lock was left behind\n");
  return free ? 0 : 1;
} catch (const std::exception& e) {
  std::cerr << "handover: " << e.what() << "\n";
  return 1;
}
