// SPDX-License-Identifier: MIT
// For whoever is on call: which names are held, by whom and since when, who waits; and the end of
// one hold, by its token, so that nobody who has come in the meantime is hit.
// usage: who_holds [url [name token]], such as who_holds redis://127.0.0.1 orders/42 1785...
#include <mortise/mortise.hpp>

#include <exception>
#include <iostream>
#include <optional>
#include <string>

namespace {

// [list]
void tell(const mortise::Client& client) {
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
// @return whether that very hold was ended. Its client is told at its next renewal; until then it
// may go on working, and only a store that checks tokens refuses what it writes.
bool end(mortise::Client& client, const std::string& name, mortise::Token token) {
  return !client.force_release(name, {.of = token}).empty();
}
// [/force]

}  // namespace

int main(int argc, char** argv) try {
  mortise::Client client(argc > 1 ? argv[1] : "memory:");
  if (argc > 3) {
    const bool ended = end(client, argv[2], mortise::Token(std::stoull(argv[3])));
    std::cout << (ended ? "that hold is over\n" : "there is no such hold any more\n");
    return ended ? 0 : 1;
  }
  std::optional<mortise::Lock> own;  // of memory:, which is empty otherwise
  if (argc < 2) own.emplace(client.make_lock("orders/42", {.label = "till 1"})).lock();
  tell(client);
  return 0;
} catch (const std::exception& e) {
  std::cerr << "who_holds: " << e.what() << "\n";
  return 2;
}
