// SPDX-License-Identifier: MIT
#include "simulation/postgres/direct.hpp"

#include "simulation/postgres/stranger.hpp"

#include <iostream>
#include <stdexcept>

namespace simulation::postgres {
namespace {

constexpr std::int32_t bytea_oid = 17;
constexpr std::int32_t int8_oid = 20;

std::string array_head(std::int32_t type, std::size_t length) {
  std::string out;
  append_number(out, 1, sizeof(std::int32_t));
  append_number(out, 0, sizeof(std::int32_t));
  append_number(out, static_cast<std::uint64_t>(type), sizeof(std::int32_t));
  append_number(out, length, sizeof(std::int32_t));
  append_number(out, 1, sizeof(std::int32_t));
  return out;
}

}  // namespace

bool DirectSite::go_on() {
  if (timers_.empty()) return false;
  const auto first = timers_.begin();
  now_ = first->first;
  const std::function<void()> then = std::move(first->second);
  timers_.erase(first);
  then();
  return true;
}

void DirectSite::note(std::string_view words) { std::cout << words << '\n'; }

DirectTalk::DirectTalk(DirectSite& site, PostgresModel& model, ConnectionId connection)
    : site_(site), model_(model), connection_(connection) {
  constexpr std::int32_t protocol = 196'608;
  model_.opened(connection_);
  std::string hello;
  MessageWriter(hello, '\0').int32(protocol).text("user").text("test").byte('\0');
  model_.received(connection_, hello);
  read();
}

Answers DirectTalk::ask(const std::string& text, const std::vector<std::string>& arguments) {
  model_.received(connection_, arguments.empty() ? Stranger::simple(text)
                                                 : Stranger::statement(text, arguments));
  return read();
}

Answers DirectTalk::read() {
  Answers answers;
  for (;;) {
    in_.append(site_.taken(connection_));
    while (const std::optional<Message> message = in_.next(false)) {
      MessageReader reader(message->body);
      switch (message->kind) {
        case 'Z': return answers;
        case 'D': {
          auto& row = answers.emplace_back();
          for (std::int16_t left = reader.int16(); left > 0; --left) {
            const std::int32_t size = reader.int32();
            row.emplace_back(reader.bytes(static_cast<std::size_t>(size < 0 ? 0 : size)));
          }
          break;
        }
        case 'E':
          answers.clear();
          for (char field = reader.byte(); field != '\0'; field = reader.byte()) {
            const std::string_view value = reader.text();
            if (field == 'C') answers.push_back({"error " + std::string(value)});
          }
          break;
        case 'A':
          reader.int32();
          reader.text();
          heard_.emplace_back(reader.text());
          break;
        default: break;
      }
    }
    if (site_.sent(connection_).empty() && !site_.go_on()) {
      throw std::runtime_error("the model never answers");
    }
  }
}

std::vector<std::string> DirectTalk::notifications() {
  in_.append(site_.taken(connection_));
  while (const std::optional<Message> message = in_.next(false)) {
    if (message->kind != 'A') continue;
    MessageReader reader(message->body);
    reader.int32();
    reader.text();
    heard_.emplace_back(reader.text());
  }
  return std::exchange(heard_, {});
}

std::string binary(std::int64_t number) {
  std::string out;
  append_number(out, static_cast<std::uint64_t>(number), sizeof number);
  return out;
}

std::string binary(const std::vector<std::string>& values) {
  std::string out = array_head(bytea_oid, values.size());
  for (const std::string& value : values) {
    append_number(out, value.size(), sizeof(std::int32_t));
    out += value;
  }
  return out;
}

std::string binary(const std::vector<std::int64_t>& values) {
  std::string out = array_head(int8_oid, values.size());
  for (const std::int64_t value : values) {
    append_number(out, sizeof value, sizeof(std::int32_t));
    out += binary(value);
  }
  return out;
}

}  // namespace simulation::postgres
