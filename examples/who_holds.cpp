// SPDX-License-Identifier: MIT
// For operators: lists the names that are held, their holders and the number of waiters. It can
// also end one hold by its token, so that a later holder of the same name is not affected. usage:
// who_holds [url [name token]], such as who_holds redis://127.0.0.1 orders/42 1785...
#include <mortise/mortise.hpp>

#include <exception>
#include <iostream>
#include <optional>
#include <string>

namespace {

// [list]
void print_holds(const mortise::Client& client) {
  mortise::ListOptions page;
  do {
    const mortise::NamePage names = client.list({}, page);  // {} = every name; or a prefix
    for (const std::string& name : names.names) {
      const mortise::NameQueue queue = client.queue(name);
      for (const mortise::HolderEntry& holder : queue.holders) {
        std::cout << name << ": held by " << holder.label << ", token " << holder.token.value();
        if (holder.age) std::cout << ", for " << holder.age->count() << " ms";
        std::cout << "; " << queue.waiters.size() << " wait\n";
      }
    }
    page.cursor = names.cursor;
  } while (!page.cursor.empty());
}
// [/list]

// [force]
// @return whether the hold with this token was ended. Its client notices at its next renewal, and
// may work until then. Only a store that compares tokens refuses what it writes.
bool end(mortise::Client& client, const std::string& name, mortise::Token token) {
  return !client.force_release(name, {.of = token}).empty();
}
// [/force]

}  // namespace

int main(int argc, char** argv) try {
  mortise::Client client(argc > 1 ? argv[1] : "memory:");
  if (argc > 3) {
    const bool ended = end(client, argv[2], mortise::Token(std::stoull(argv[3])));
    std::cout << (ended ? "the hold has ended\n" : "no hold has this token\n");
    return ended ? 0 : 1;
  }
  std::optional<mortise::Lock> own;  // memory: has no other holds
  if (argc < 2) own.emplace(client.make_lock("orders/42", {.label = "till 1"})).lock();
  print_holds(client);
  return 0;
} catch (const std::exception& e) {
  std::cerr << "who_holds: " << e.what() << "\n";
  return 2;
}
