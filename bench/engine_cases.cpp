// SPDX-License-Identifier: MIT
// "Whoever waits, does the work": round trips a second of many threads that share one connection,
// beside one thread that writes and reads. For information: it shows what the engine adds.
#include <mortise/client.hpp>

#include "case.hpp"
#include "contention.hpp"
#include "echo.hpp"

#include <stdexcept>
#include <string>

namespace mortise::bench {
namespace {

using namespace std::chrono_literals;

double through_the_engine(Mode mode, int threads) {
  const EchoServer server(mode);
  Client client(std::make_unique<EchoBackend>(server.socket()));
  return contend(
             threads,
             [&](int) -> Baton { return {.take = [&client] { client.check(1s); }, .give = [] {}}; })
      .per_second;
}

double plain(Mode mode) {
  const EchoServer server(mode);
  return contend(1,
                 [&](int) -> Baton { return {.take = [&server] { server.ask(); }, .give = [] {}}; })
      .per_second;
}

}  // namespace

void add_engine_cases(Cases& cases) {
  using enum Mode;
  for (const int threads : {1, 8, 64}) {
    add(cases, {same, crossed},
        {.name = "core/echo_" + std::to_string(threads),
         .unit = "1/s",
         .better = Better::higher,
         .ours = [threads](Mode mode) { return through_the_engine(mode, threads); },
         .floor = plain});
  }
}

}  // namespace mortise::bench
