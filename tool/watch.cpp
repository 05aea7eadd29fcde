// SPDX-License-Identifier: MIT
// A live table of what is held, redrawn on a terminal; elsewhere its lines again and again.
#include <mortise/client.hpp>

#include "look.hpp"
#include "status.hpp"
#include "text.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <thread>

namespace mortise::tool {
namespace {

constexpr std::size_t columns = 7;
constexpr std::size_t never_full = std::numeric_limits<std::size_t>::max();
using Row = std::array<std::string, columns>;

/// How many characters it takes; of UTF-8, each counts as one.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80;
  }));
}

/// At most so many characters of it.
std::string cut(const std::string& text, std::size_t width) {
  if (width_of(text) <= width) return text;
  std::size_t end = 0;
  for (std::size_t seen = 0; end < text.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(text[end]) & 0xC0U) != 0x80;
    if (begins && ++seen > width - 1) break;
  }
  return text.substr(0, end) + "~";
}

void append_rows(std::vector<Row>& rows, const std::string& name, const NameQueue& queue) {
  const std::string waiters =
      queue.waiters_in_all ? std::to_string(*queue.waiters_in_all) : std::string("-");
  for (const HolderEntry& each : queue.holders) {
    rows.push_back({escaped(name), printable(each.label), std::string(word_of(each.mode)),
                    words(each.token), words(each.age), words(each.expires_in), waiters});
  }
}

/// How many lines there are to draw, without the one where the cursor stays.
std::size_t lines_of(const winsize* screen) {
  return screen != nullptr ? std::max<std::size_t>(screen->ws_row, 3) - 1 : never_full;
}

std::string table_of(const std::vector<Row>& rows, const winsize* screen) {
  std::array<std::size_t, columns> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < columns; ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  // On a screen, one row is one line, and a long name does not push the rest away.
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    if (screen != nullptr) widths[i] = std::min<std::size_t>(widths[i], screen->ws_col / 3U);
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < columns; ++i) {
      const std::string cell =
          screen != nullptr ? cut(row[i], std::max<std::size_t>(widths[i], 1)) : row[i];
      line += cell;
      if (i + 1 < columns)
        line += std::string(widths[i] - std::min(widths[i], width_of(cell)) + 2, ' ');
    }
    text += (screen != nullptr ? cut(line, screen->ws_col) + "\x1b[K" : line) + "\n";
  }
  return text;
}

std::string look(const Client& client, const Order& order, const winsize* screen) {
  std::vector<Row> rows{{"NAME", "HOLDER", "MODE", "TOKEN", "AGE", "LEFT", "WAITERS"}};
  std::string json;
  const std::vector<std::string> names = all_names(client, order).names;
  const std::size_t lines = lines_of(screen);
  std::size_t shown = 0;
  // Of each name the store is asked anew: of a hundred thousand, only for those that can be seen.
  for (; shown < names.size() && rows.size() < lines; ++shown) {
    const NameQueue queue = queue_of(client, order, names[shown]);
    if (order.json) {
      if (!queue.holders.empty()) {
        json += (json.empty() ? "" : ",") + json_of(names[shown], queue);
      }
    } else {
      append_rows(rows, names[shown], queue);
    }
  }
  if (order.json) return "{\"names\":[" + json + "]}\n";
  if (shown == names.size() && rows.size() <= lines) return table_of(rows, screen);
  rows.resize(std::min(rows.size(), lines - 1));
  return table_of(rows, screen) + "... and more, of " + std::to_string(names.size()) +
         " names in all\x1b[K\n";
}

}  // namespace

int watch(const Order& order) {
  const Client client(order.url);
  if (order.once) return print(look(client, order, nullptr));
  for (;;) {
    winsize screen{};
    const bool drawn = ::isatty(STDOUT_FILENO) == 1 &&
                       ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &screen) == 0 && screen.ws_col > 0;
    const std::string text = look(client, order, drawn ? &screen : nullptr);
    // To the corner, over the lines of before, and nothing below: a cleared screen would flicker.
    const int printed = print(drawn ? "\x1b[H" + text + "\x1b[J" : text);
    if (printed != done) return printed;
    std::this_thread::sleep_for(
        std::max<std::chrono::milliseconds>(order.every, std::chrono::milliseconds(100)));
  }
}

}  // namespace mortise::tool
