// SPDX-License-Identifier: MIT
#include "simulation/postgres/stranger.hpp"

#include "simulation/postgres/wire.hpp"

#include <utility>

namespace simulation::postgres {

Stranger::Stranger(Database& database, int pid, std::function<std::string()> next)
    : next_(std::move(next)), session_(database, pid, [this](std::string_view) { go_on(); }) {
  constexpr std::int32_t protocol = 196'608;
  session_.start();
  std::string hello;
  MessageWriter(hello, '\0').int32(protocol).text("user").text("stranger").byte('\0');
  session_.received(hello);
}

void Stranger::go_on() {
  const std::string bytes = next_();
  if (!bytes.empty()) session_.received(bytes);
}

std::string Stranger::statement(const std::string& text,
                                const std::vector<std::string>& arguments) {
  std::string out;
  MessageWriter(out, 'P').text("").text(text).int16(0);
  {
    MessageWriter bind(out, 'B');
    bind.text("").text("").int16(1).int16(1).int16(static_cast<std::int16_t>(arguments.size()));
    for (const std::string& each : arguments) {
      bind.int32(static_cast<std::int32_t>(each.size())).bytes(each);
    }
    bind.int16(0);
  }
  MessageWriter(out, 'E').text("").int32(0);
  MessageWriter(out, 'S');
  return out;
}

std::string Stranger::simple(const std::string& text) {
  std::string out;
  MessageWriter(out, 'Q').text(text);
  return out;
}

std::string Stranger::leave() {
  std::string out;
  MessageWriter(out, 'X');
  return out;
}

}  // namespace simulation::postgres
