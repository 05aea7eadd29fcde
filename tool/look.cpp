// SPDX-License-Identifier: MIT
#include "look.hpp"

#include <mortise/clock.hpp>

#include "capture.hpp"
#include "duration.hpp"
#include "status.hpp"
#include "text.hpp"

#include <unistd.h>

#include <algorithm>
#include <optional>

namespace mortise::tool {
namespace {

std::string number(const std::optional<std::chrono::milliseconds>& time) {
  return time ? std::to_string(time->count()) : "null";
}

std::string entry_json(const HolderEntry& holder) {
  return "{" + json_member("label", holder.label) + R"(,"mode":")" +
         std::string(word_of(holder.mode)) + R"(","token":)" + json_token(holder.token) +
         ",\"age_ms\":" + number(holder.age) + ",\"expires_in_ms\":" + number(holder.expires_in) +
         "}";
}

std::string entry_json(const WaiterEntry& waiter) {
  return "{" + json_member("label", waiter.label) + R"(,"mode":")" +
         std::string(word_of(waiter.mode)) + R"(","age_ms":)" + number(waiter.age) +
         ",\"silent_for_ms\":" + number(waiter.silent_for) + "}";
}

template <class Entries>
std::string json_array(const Entries& entries) {
  std::string json = "[";
  for (const auto& each : entries) json += (json.size() > 1 ? "," : "") + entry_json(each);
  return json + "]";
}

/// Asks again until there is an answer: the library waits a second for one.
std::optional<Holder> holder_of(const Lock& lock, std::chrono::nanoseconds answer) {
  const Instant until = BootClock::now() + answer;
  for (;;) {
    try {
      return lock.holder();
    } catch (const Error& error) {
      if (error.code() != Errc::unavailable || BootClock::now() >= until) throw;
    }
  }
}

}  // namespace

Names all_names(const Client& client, const Order& order) {
  Names all;
  ListOptions options{.cursor = {}, .limit = longest_page, .wait = order.answer};
  do {
    NamePage page = client.list(order.name, options);
    all.too_long += page.too_long;
    all.names.insert(all.names.end(), std::make_move_iterator(page.names.begin()),
                     std::make_move_iterator(page.names.end()));
    options.cursor = std::move(page.cursor);
  } while (!options.cursor.empty());
  std::sort(all.names.begin(), all.names.end());
  all.names.erase(std::unique(all.names.begin(), all.names.end()), all.names.end());
  return all;
}

NameQueue queue_of(const Client& client, const Order& order, const std::string& name) {
  return client.queue(name, {.limit = longest_page, .wait = order.answer});
}

std::string words(Token token) { return token ? std::to_string(token.value()) : "-"; }

std::string words(const std::optional<std::chrono::milliseconds>& time) {
  return time ? short_text(*time) : "-";
}

std::string_view word_of(Mode mode) noexcept {
  switch (mode) {
    case Mode::exclusive: return "exclusive";
    case Mode::shared: return "shared";
    case Mode::once: return "once";
    case Mode::permit: return "permit";
  }
  return "unknown";
}

std::string json_of(const std::string& name, const NameQueue& queue) {
  return "{" + json_member("name", name) + ",\"holders\":" + json_array(queue.holders) +
         ",\"waiters\":" + json_array(queue.waiters) + ",\"waiters_in_all\":" +
         (queue.waiters_in_all ? std::to_string(*queue.waiters_in_all) : "null") + "}";
}

int print(const std::string& text) {
  if (write_all(STDOUT_FILENO, text)) return done;
  complain("what was found cannot be printed");
  return unwritten;
}

int look_holder(const Order& order) {
  Client client(order.url);
  const std::optional<Holder> found = holder_of(client.make_lock(order.name), order.answer);
  std::string text = "free\n";
  if (order.json) {
    text = "{" + json_member("name", order.name) + ",\"holder\":" +
           (found ? entry_json(
                        HolderEntry{found->label, found->mode, found->token, {}, found->expires_in})
                  : "null") +
           "}\n";
  } else if (found) {
    text = printable(found->label) + " (" + std::string(word_of(found->mode)) + ", token " +
           words(found->token) + ", left " + words(found->expires_in) + ")\n";
  }
  const int printed = print(text);
  return printed == done && !found ? nothing_there : printed;
}

int look_queue(const Order& order) {
  const Client client(order.url);
  const NameQueue queue = queue_of(client, order, order.name);
  if (order.json) return print(json_of(order.name, queue) + "\n");
  std::string text;
  for (const HolderEntry& each : queue.holders) {
    text += "holds\t" + printable(each.label) + "\t" + std::string(word_of(each.mode)) +
            "\ttoken " + words(each.token) + "\tage " + words(each.age) + "\tleft " +
            words(each.expires_in) + "\n";
  }
  for (const WaiterEntry& each : queue.waiters) {
    text += "waits\t" + (each.label.empty() ? "-" : printable(each.label)) + "\t" +
            std::string(word_of(each.mode)) + "\tage " + words(each.age) + "\tsilent " +
            words(each.silent_for) + "\n";
  }
  if (queue.waiters_in_all.value_or(0) > queue.waiters.size()) {
    text += "waits\tin all " + std::to_string(*queue.waiters_in_all) + "\n";
  }
  return print(text.empty() ? "free\n" : text);
}

int look_list(const Order& order) {
  const Client client(order.url);
  const Names all = all_names(client, order);
  std::string text;
  if (order.json) {
    for (const std::string& name : all.names) {
      text += (text.empty() ? "{" : ",{") + json_member("name", name) + "}";
    }
    return print("{\"names\":[" + text + "],\"too_long\":" + std::to_string(all.too_long) + "}\n");
  }
  for (const std::string& name : all.names) text += escaped(name) + "\n";
  const int printed = print(text);
  if (all.too_long != 0) {
    complain(std::to_string(all.too_long) + " more are held, with names too long to be kept");
  }
  return printed;
}

}  // namespace mortise::tool
