// SPDX-License-Identifier: MIT
// The commands holder, queue and list.
#include "look.hpp"

#include <mortise/clock.hpp>

#include "asking.hpp"
#include "capture.hpp"
#include "duration.hpp"
#include "status.hpp"
#include "text.hpp"

#include <unistd.h>

#include <optional>

namespace mortise::tool {
namespace {

Json json_of(const WaiterEntry& waiter) {
  Json entry;
  put_bytes(entry, "label", waiter.label);
  entry["mode"] = to_string(waiter.mode);
  entry["age_ms"] = tool::json_of(waiter.age);
  entry["silent_for_ms"] = tool::json_of(waiter.silent_for);
  return entry;
}

/// A store may not keep the label: then it is "-".
std::string label_word(const std::string& label) { return label.empty() ? "-" : printable(label); }

std::string line_of_holder(const HolderEntry& holder) {
  return "holds\t" + label_word(holder.label) + "\t" + std::string(to_string(holder.mode)) +
         "\ttoken " + words(holder.token) + "\tage " + words(holder.age) + "\tleft " +
         words(holder.expires_in) + "\n";
}

std::string line_of_waiter(const WaiterEntry& waiter) {
  return "waits\t" + label_word(waiter.label) + "\t" + std::string(to_string(waiter.mode)) +
         "\tage " + words(waiter.age) + "\tsilent " + words(waiter.silent_for) + "\n";
}

}  // namespace

std::string words(Token token) { return token ? std::to_string(token.value()) : "-"; }

std::string words(const std::optional<std::chrono::milliseconds>& time) {
  return time ? short_text(*time) : "-";
}

Json json_of(const HolderEntry& holder) {
  Json entry;
  put_bytes(entry, "label", holder.label);
  entry["mode"] = to_string(holder.mode);
  entry["token"] = json_of(holder.token);
  entry["age_ms"] = json_of(holder.age);
  entry["expires_in_ms"] = json_of(holder.expires_in);
  return entry;
}

void put_queue(Json& object, const NameQueue& queue) {
  Json holders = Json::array();
  for (const HolderEntry& each : queue.holders) holders.push_back(json_of(each));
  Json waiters = Json::array();
  for (const WaiterEntry& each : queue.waiters) waiters.push_back(json_of(each));
  object["holders"] = std::move(holders);
  object["waiters"] = std::move(waiters);
  object["waiters_in_all"] = queue.waiters_in_all ? Json(*queue.waiters_in_all) : Json();
}

int print(const std::string& text) {
  if (write_all(STDOUT_FILENO, text)) return done;
  complain("standard output does not accept the text",
           "Check the disk, the pipe or the terminal that it leads to.");
  return unwritten;
}

int look_holder(const Order& order) {
  Client client(order.url);
  const Lock lock = client.make_lock(order.name);
  const std::optional<Holder> found = answered(order.look.answer, [&] { return lock.holder(); });
  int printed = done;
  if (order.look.json) {
    Json json;
    put_bytes(json, "name", order.name);
    json["holder"] =
        found ? json_of(HolderEntry{found->label, found->mode, found->token, {}, found->expires_in})
              : Json();
    printed = print(line_of(json));
  } else if (found) {
    printed =
        print(printable(found->label) + " (" + std::string(to_string(found->mode)) + ", token " +
              words(found->token) + ", left " + words(found->expires_in) + ")\n");
  } else {
    printed = print("free\n");
  }
  return printed == done && !found ? nothing_there : printed;
}

int look_queue(const Order& order) {
  const Client client(order.url);
  const NameQueue queue = queue_of_kinds(client, order);
  if (order.look.json) {
    Json json;
    put_bytes(json, "name", order.name);
    put_queue(json, queue);
    return print(line_of(json));
  }
  std::string text;
  for (const HolderEntry& each : queue.holders) text += line_of_holder(each);
  for (const WaiterEntry& each : queue.waiters) text += line_of_waiter(each);
  if (queue.waiters_in_all.value_or(0) > queue.waiters.size()) {
    text += "waits\tin all " + std::to_string(*queue.waiters_in_all) + "\n";
  }
  return print(text.empty() ? "free\n" : text);
}

int look_list(const Order& order) {
  const Client client(order.url);
  const HeldNames all = held_names(client, order);
  if (order.look.json) {
    Json names = Json::array();
    for (const HeldName& each : all.names) {
      Json entry;
      entry["kind"] = kind_word(each.kind);
      put_bytes(entry, "name", each.name);
      names.push_back(std::move(entry));
    }
    Json json;
    json["names"] = std::move(names);
    json["too_long"] = all.too_long;
    return print(line_of(json));
  }
  std::string text;
  for (const HeldName& each : all.names) {
    text += std::string(kind_word(each.kind)) + "\t" + escaped(each.name) + "\n";
  }
  const int printed = print(text);
  if (all.too_long != 0) {
    complain(std::to_string(all.too_long) +
                 " more names are held, but they are too long for the list of this store",
             "Ask for such a name with 'mortise queue NAME'.");
  }
  return printed;
}

}  // namespace mortise::tool
