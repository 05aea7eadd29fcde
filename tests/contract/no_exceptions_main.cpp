// SPDX-License-Identifier: MIT
// Goal: a program that is compiled with -fno-exceptions can use the library by its error_code
// forms. Method: this is one; it returns the number of the first step that fails.
#include <mortise/mortise.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <system_error>

#ifdef __cpp_exceptions
#error "this program is compiled with -fno-exceptions"
#endif

int main() {
  using namespace std::chrono_literals;
  std::error_code ec;
  mortise::Failure failure;
  if (mortise::Client::open("nowhere", {}, failure) || !failure) return 1;
  if (mortise::Client::open("nowhere", ec) || !ec) return 2;
  std::optional<mortise::Client> client = mortise::Client::open("memory:", ec);
  if (!client || ec) return 3;
  client->check(ec);
  if (ec) return 4;

  const mortise::Guard guard(*client, "order", {.wait = 2s}, ec);
  if (!guard || ec) return 5;
  const mortise::Guard busy(*client, "order", {.wait = 0s, .owner = mortise::Owner::unique()}, ec);
  if (busy || ec != mortise::Errc::timeout) return 6;
  const mortise::Guard wrong(*client, "", {}, ec);
  if (wrong || ec != mortise::Errc::misconfigured) return 7;
  if (!mortise::lock_all(*client, {"a", "b"}, {.wait = 2s}, ec) || ec) return 8;
  if (!client->with_lock("c", {.wait = 2s}, [] {})) return 9;

  mortise::Once key = client->make_once("key");
  int runs = 0;
  for (int i = 0; i < 2; ++i) {
    const mortise::Outcome outcome = key.run(
        [&](mortise::Run& run) {
          return std::to_string(run.number()) + "/" + std::to_string(++runs);
        },
        ec);
    if (ec || !outcome || outcome.result() != "1/1") return 10;
  }
  if (!client->make_once("nothing").run([] {}, ec) || ec) return 11;

  mortise::Semaphore gate = client->make_semaphore("gate", 1);
  const mortise::Permit permit = gate.try_acquire_for(2s, ec);
  if (!permit || ec) return 12;
  if (gate.try_acquire(ec) || ec != mortise::Errc::timeout) return 13;
  return 0;
}
