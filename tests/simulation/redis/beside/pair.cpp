// SPDX-License-Identifier: MIT
#include "simulation/redis/beside/pair.hpp"

#include "redis/store/command.hpp"
#include "simulation/redis/numbers.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace simulation::redis {
namespace {

std::string bytes_of(const Words& words) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  std::string bytes;
  mortise::redis::append_command(bytes, views);
  return bytes;
}

// Fields of a large hash, keys and settings come in an order that is nobody's promise.
bool has_no_order(const Words& words) {
  static const std::vector<std::string_view> unordered{"hgetall", "hkeys", "hvals", "keys",
                                                       "config"};
  return std::any_of(unordered.begin(), unordered.end(),
                     [&](std::string_view name) { return is_word(words[0], name); });
}

std::string sorted(std::string_view answer) {
  Words items = words_of(answer);
  std::sort(items.begin(), items.end());
  return std::string(answer.substr(0, answer.find('\n'))) + printed(items);
}

}  // namespace

Words words_of(std::string_view answer) {
  const std::size_t end = answer.find("\r\n");
  const std::string_view first = answer.substr(0, end);
  if (first.starts_with('$')) {
    if (first == "$-1") return {first.data()};
    return {std::string(answer.substr(end + 2, answer.size() - end - 4))};
  }
  if (!first.starts_with('*')) return {std::string(first)};
  Words out;
  for (std::string_view rest = answer.substr(end + 2); !rest.empty();) {
    const std::size_t size = answer_size(rest).value_or(rest.size());
    for (std::string& word : words_of(rest.substr(0, size))) out.push_back(std::move(word));
    rest.remove_prefix(size);
  }
  return out;
}

std::string printed(const Words& words) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const std::string& word : words) {
    out += out.empty() ? "" : " ";
    for (const char c : word) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte >= 0x20 && byte < 0x7f) {
        out += c;
      } else {
        out += std::string("\\x") + digits[byte >> 4U] + digits[byte & 15U];
      }
    }
    if (word.empty()) out += "''";
  }
  return out;
}

Pair::Pair() : real_(site_.wall()) {}

void Pair::open(int connection) {
  const auto index = static_cast<std::size_t>(connection);
  while (pushed_.size() <= index) {
    model_.opened(pushed_.size());
    pushed_.emplace_back();
  }
}

void Pair::say(Words words, int connection) { said_.push_back({std::move(words), connection}); }

std::string Pair::of_model(const Said& said) {
  open(said.connection);
  // What came to this connection before was pushed: it is compared by `compare_connection()`.
  const auto id = static_cast<ConnectionId>(said.connection);
  pushed_[id] += site_.take(id);
  model_.received(id, bytes_of(said.words));
  return site_.take(id);
}

std::vector<std::string> Pair::exchange() {
  std::vector<std::string> answers;
  for (std::size_t first = 0; first < said_.size();) {
    // The real server reads its connections in an order of its own: one of them after the other.
    const int connection = said_[first].connection;
    std::size_t last = first;
    while (last < said_.size() && said_[last].connection == connection) ++last;
    for (std::size_t i = first; i < last; ++i) real_.send(connection, bytes_of(said_[i].words));
    for (; first < last; ++first) answers.push_back(answer_to(said_[first]));
    if (connection != plain) compare_connection(connection);
  }
  said_.clear();
  return answers;
}

std::string Pair::answer_to(const Said& said) {
  ++commands_;
  std::string model = of_model(said);
  if (said.connection != plain) {  // what is pushed may come before: compared together
    pushed_[static_cast<std::size_t>(said.connection)] += model;
    return model;
  }
  const std::string real = real_.answer(said.connection);
  if (has_no_order(said.words)) {
    EXPECT_EQ(sorted(model), sorted(real)) << printed(said.words);
  } else {
    EXPECT_EQ(printed({model}), printed({real})) << printed(said.words);
  }
  return model;
}

std::string Pair::ask(Words words, int connection) {
  say(std::move(words), connection);
  return exchange().back();
}

// An answer that is asked for comes behind all that was pushed before.
void Pair::compare_connection(int connection) {
  const Words mark{"PING", "mark " + std::to_string(++marks_)};
  const std::string last = of_model({mark, connection});
  const auto index = static_cast<std::size_t>(connection);
  const std::string model = std::exchange(pushed_[index], {}) + last;
  real_.send(connection, bytes_of(mark));
  std::string real;
  while (!real.ends_with(mark[1] + "\r\n")) real += real_.answer(connection);
  EXPECT_EQ(printed({model}), printed({real})) << "what came to connection " << connection;
}

std::string Pair::ask_real(const Words& words) {
  real_.send(0, bytes_of(words));
  return real_.answer(0);
}

std::string Pair::only_one(const Words& words, bool of_model) {
  return of_model ? this->of_model({words, 0}) : ask_real(words);
}

Words Pair::contents(std::string_view type, const std::string& key, bool of_model) {
  const auto read = [&](Words words, bool in_order) {
    Words items = words_of(only_one(words, of_model));
    if (!in_order) std::sort(items.begin(), items.end());
    return items;
  };
  if (type == "+string") return read({"GET", key}, true);
  if (type == "+hash") return read({"HGETALL", key}, false);
  if (type == "+list") return read({"LRANGE", key, "0", "-1"}, true);
  if (type == "+zset") return read({"ZRANGE", key, "0", "-1", "WITHSCORES"}, true);
  return read({"SCARD", key}, true);
}

void Pair::compare_keys() {
  Words keys = words_of(only_one({"KEYS", "*"}, false));
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(printed(words_of(only_one({"KEYS", "*"}, true))), printed(keys));
  for (const std::string& key : keys) {
    const std::string type = words_of(only_one({"TYPE", key}, false))[0];
    EXPECT_EQ(words_of(only_one({"TYPE", key}, true))[0], type) << printed({key});
    EXPECT_EQ(printed(contents(type, key, true)), printed(contents(type, key, false)))
        << printed({key});
    EXPECT_EQ(only_one({"PEXPIRETIME", key}, true), only_one({"PEXPIRETIME", key}, false))
        << printed({key});
  }
}

void Pair::refuse_memory(bool yes) {
  exchange();
  EXPECT_EQ(ask_real({"CONFIG", "SET", "maxmemory", yes ? "1" : "0"}), "+OK\r\n");
  model_.refuse_memory(yes);
}

void Pair::pass(Nanos time) {
  site_.pass(time);
  real_.set_wall(site_.wall());
}

}  // namespace simulation::redis
