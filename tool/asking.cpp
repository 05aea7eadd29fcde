// SPDX-License-Identifier: MIT
#include "asking.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace mortise::tool {
namespace {

/// The kinds in the order in which they are printed.
constexpr Mode every_kind[] = {Mode::exclusive, Mode::permit, Mode::once};

/// Calls it for each kind that the order asks for. If the order asks for none, calls it for every
/// kind, except those that the store does not have.
template <class Call>
void for_kinds(const Order& order, Call call) {
  if (!order.look.kinds.empty()) {
    for (const Mode kind : order.look.kinds) call(kind);
    return;
  }
  for (const Mode kind : every_kind) {
    try {
      call(kind);
    } catch (const Error& error) {
      if (kind == Mode::exclusive || error.code() != Errc::unsupported) throw;
    }
  }
}

void append_names(const Client& client, const Order& order, Mode kind, HeldNames& all) {
  std::vector<HeldName> found;
  ListOptions options;
  options.limit = longest_page;
  options.wait = order.look.answer;
  options.mode = kind;
  do {
    NamePage page = client.list(order.name, options);
    all.too_long += page.too_long;
    for (std::string& name : page.names) found.push_back({kind, std::move(name)});
    options.cursor = std::move(page.cursor);
  } while (!options.cursor.empty());
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  std::move(found.begin(), found.end(), std::back_inserter(all.names));
}

}  // namespace

std::string_view kind_word(Mode kind) noexcept {
  switch (kind) {
    case Mode::exclusive:
    case Mode::shared: break;
    case Mode::once: return "key";
    case Mode::permit: return "semaphore";
  }
  return "lock";
}

HeldNames held_names(const Client& client, const Order& order) {
  HeldNames all;
  for_kinds(order, [&](Mode kind) { append_names(client, order, kind, all); });
  return all;
}

NameQueue queue_of(const Client& client, const Order& order, const HeldName& name) {
  QueueOptions options;
  options.limit = longest_page;
  options.wait = order.look.answer;
  options.mode = name.kind;
  return client.queue(name.name, options);
}

NameQueue queue_of_kinds(const Client& client, const Order& order) {
  NameQueue all;
  all.waiters_in_all = 0;
  for_kinds(order, [&](Mode kind) {
    NameQueue one = queue_of(client, order, {kind, order.name});
    std::move(one.holders.begin(), one.holders.end(), std::back_inserter(all.holders));
    std::move(one.waiters.begin(), one.waiters.end(), std::back_inserter(all.waiters));
    // If one number is unknown, the sum is unknown.
    if (!one.waiters_in_all) all.waiters_in_all.reset();
    if (all.waiters_in_all) *all.waiters_in_all += *one.waiters_in_all;
  });
  return all;
}

}  // namespace mortise::tool
