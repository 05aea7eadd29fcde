// SPDX-License-Identifier: MIT
// The first lock on PostgreSQL. It needs a schema, which an administrator installs once.
// `--install` does that. A service should not, because its user does not need the permission.
// Without the schema, `check()` throws, and the message explains how to install it.
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
  client.check(5s);  // throws `misconfigured` if the schema is missing or has the wrong version

  mortise::Lock lock = client.make_lock("greeting", {.lease = 10s, .label = "hello"});
  mortise::Guard guard(lock, {.wait = 3s});
  if (!guard) {
    std::cout << guard.error_text() << "\n";
    return 1;
  }
  std::cout << "held, token " << guard.token().value() << "; in another database: WHERE "
            << mortise::postgres::fenced(guard) << "\n";
  return guard.unlock() == mortise::Released::released ? 0 : 1;
}
// [/postgres]

}  // namespace

int main(int argc, char** argv) try {
  const std::string url = argc > 1 ? argv[1] : "postgresql:///orders";
  if (argc > 2 && argv[2] == std::string_view("--install")) {
    // [install]
    mortise::postgres::migrate(url);  // {.role = "shop"} gives that role the permissions to use it
    // [/install]
  }
  return greet(url);
} catch (const std::exception& e) {
  std::cerr << "hello_postgres: " << e.what() << "\n";
  return 2;
}
