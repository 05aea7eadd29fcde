// SPDX-License-Identifier: MIT
// The command watch: a table of holds. A terminal shows it in place, and a pipe gets a new one each
// time.
#include <mortise/client.hpp>

#include "look.hpp"
#include "status.hpp"
#include "survey.hpp"
#include "table.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace mortise::tool {
namespace {

constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

/// @return the terminal without the line where the cursor stays; nothing if standard output is not
/// one.
std::optional<Screen> terminal_screen() {
  winsize size{};
  if (::isatty(STDOUT_FILENO) != 1 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 ||
      size.ws_col == 0) {
    return std::nullopt;
  }
  // Not the last column: erasing the rest of a line that is full erases that one.
  return Screen{size.ws_col - 1U, std::max<std::size_t>(size.ws_row, 4) - 1};
}

std::vector<ChangedRow> unchanged(const Survey& survey) {
  std::vector<ChangedRow> rows;
  for (const Row& each : survey.rows) rows.push_back({each, Change::none});
  return rows;
}

/// One object for each name, with its queue.
std::string json_of_holds(const Client& client, const Order& order) {
  Json names = Json::array();
  for (const HeldName& each : held_names(client, order).names) {
    const NameQueue queue = queue_of(client, order, each);
    if (queue.holders.empty()) continue;  // freed since the list was made
    Json entry;
    entry["kind"] = kind_word(each.kind);
    put_bytes(entry, "name", each.name);
    put_queue(entry, queue);
    names.push_back(std::move(entry));
  }
  Json json;
  json["names"] = std::move(names);
  return line_of(json);
}

int look_once(const Client& client, const Order& order) {
  if (order.look.json) return print(json_of_holds(client, order));
  return print(plain_table(unchanged(take_survey(client, order, no_limit))));
}

/// Draws over the old table from the corner, and erases the rest. Clearing the screen would
/// flicker.
std::string in_place(const std::string& table) { return "\x1b[H" + table + "\x1b[J"; }

}  // namespace

int watch(const Order& order) {
  const Client client(order.url);
  if (order.look.once) return look_once(client, order);
  std::optional<Survey> before;
  for (;;) {
    const std::optional<Screen> screen = terminal_screen();
    Survey now = take_survey(client, order, screen ? rows_of(*screen) : no_limit);
    const std::vector<ChangedRow> rows = before ? changes(*before, now) : unchanged(now);
    const bool all = now.asked == now.names.size();
    const int printed =
        print(screen ? in_place(drawn_table(rows, *screen, order.look.every, now.names.size(), all))
                     : plain_table(unchanged(now)));
    if (printed != done) return printed;
    before = std::move(now);
    std::this_thread::sleep_for(
        std::max<std::chrono::milliseconds>(order.look.every, std::chrono::milliseconds(100)));
  }
}

}  // namespace mortise::tool
