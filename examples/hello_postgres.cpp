// SPDX-License-Identifier: MIT
// The first lock on PostgreSQL. What is different there: a schema has to be installed once, by a
// user who may make one. `--install` does that (a service's own start should not, since its user
// need not have that right); without the schema `check()` says what is missing, and what to do.
// usage: hello_postgres postgresql://shop@db.internal/orders [--install]
#include <mortise/mortise.hpp>
#include <mortise/postgres.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>

using namespace std::chrono_literals;

namespace {

// [postgres]
int greet(const std::string& url) {
  mortise::Client client(url);
  client.check(5s);  // `misconfigured` where the schema is missing or is of the wrong version

  mortise::Lock lock = client.make_lock("greeting", {.lease = 10s, .label = "hello"});
  mortise::Guard guard(lock, {.wait = 3s});
  if (!guard) {
    std::cout << guard.error_text() << "\n";
    return 1;
  }
  std::cout << "held, token " << guard.token().value() << "; a write elsewhere says WHERE "
            << mortise::postgres::fenced(guard) << "\n";
  return guard.unlock() == mortise::Released::released ? 0 : 1;
}
// [/postgres]

}  // namespace

int main(int argc, char** argv) try {
  const std::string url = argc > 1 ? argv[1] : "postgresql:///orders";
  if (argc > 2 && argv[2] == std::string_view("--install")) {
    // [install]
    mortise::postgres::migrate(url);  // {.role = "shop"} gives that role the rights to use it
    // [/install]
  }
  return greet(url);
} catch (const std::exception& e) {
  std::cerr << "hello_postgres: " << e.what() << "\n";
  return 2;
}
