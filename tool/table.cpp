// SPDX-License-Identifier: MIT
#include "table.hpp"

#include "duration.hpp"
#include "look.hpp"
#include "text.hpp"

#include <algorithm>
#include <array>
#include <ctime>

namespace mortise::tool {
namespace {

constexpr std::size_t heads = 2;  // lines above the rows of a screen

/// The columns. A screen leaves out the token, which is 19 digits: `mortise queue` prints it.
enum Column : std::size_t { mark, name, holder, mode, token, age, left, waiters, columns };
using Cells = std::array<std::string, columns>;

Cells titles() { return {" ", "NAME", "HOLDER", "MODE", "TOKEN", "AGE", "LEFT", "WAITERS"}; }

std::string mark_of(Change change) {
  switch (change) {
    case Change::none: break;
    case Change::began: return "+";
    case Change::ended: return "-";
    case Change::waiters: return "*";
  }
  return " ";
}

Cells cells_of(const ChangedRow& changed) {
  const Row& row = changed.row;
  const bool ended = changed.change == Change::ended;
  return {mark_of(changed.change),
          escaped(row.name.name),
          row.holder.label.empty() ? "-" : printable(row.holder.label),
          std::string(to_string(row.holder.mode)),
          words(row.holder.token),
          words(row.holder.age),
          ended ? "ended" : words(row.holder.expires_in),
          row.waiters ? std::to_string(*row.waiters) : "-"};
}

/// How many characters it has. Each character of UTF-8 counts as one.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80;
  }));
}

/// At most this many characters of it; "~" stands for the rest.
std::string cut(const std::string& text, std::size_t width) {
  if (width_of(text) <= width) return text;
  if (width == 0) return {};
  std::size_t end = 0;
  for (std::size_t seen = 0; end < text.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(text[end]) & 0xC0U) != 0x80;
    if (begins && ++seen > width - 1) break;
  }
  return text.substr(0, end) + "~";
}

using Widths = std::array<std::size_t, columns>;

Widths widths_of(const std::vector<Cells>& lines) {
  Widths widths{};
  for (const Cells& line : lines) {
    for (std::size_t i = 0; i < columns; ++i) widths[i] = std::max(widths[i], width_of(line[i]));
  }
  return widths;
}

/// Narrows the name and the holder until a line fits. The narrower of the two keeps its width if it
/// needs less than half of the room.
void fit(Widths& widths, const std::vector<Column>& shown, std::size_t width) {
  std::size_t others = 0;
  for (const Column each : shown) {
    if (each != name && each != holder) others += widths[each] + 1;
  }
  others += 2;  // the spaces after the name and after the holder
  const std::size_t room = width > others ? width - others : 0;
  if (widths[name] + widths[holder] <= room) return;
  const std::size_t half = room / 2;
  widths[name] =
      std::min(widths[name], std::max(room - half, room - std::min(room, widths[holder])));
  widths[holder] = std::min(widths[holder], room - widths[name]);
}

std::string line_of_cells(const Cells& cells, const std::vector<Column>& shown,
                          const Widths& widths) {
  std::string line;
  for (const Column each : shown) {
    if (each != shown.front()) line += ' ';
    const std::string cell = cut(cells[each], widths[each]);
    line += cell;
    if (each != shown.back()) line += std::string(widths[each] - width_of(cell), ' ');
  }
  return line;
}

std::vector<Cells> lines_of(const std::vector<ChangedRow>& rows) {
  std::vector<Cells> lines{titles()};
  for (const ChangedRow& each : rows) lines.push_back(cells_of(each));
  return lines;
}

std::string clock_time() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  char text[16] = {};
  if (::localtime_r(&now, &local) == nullptr) return {};
  return {text, std::strftime(text, sizeof text, "%H:%M:%S", &local)};
}

}  // namespace

std::string plain_table(const std::vector<ChangedRow>& rows) {
  const std::vector<Column> shown{name, holder, mode, token, age, left, waiters};
  const std::vector<Cells> lines = lines_of(rows);
  Widths widths = widths_of(lines);
  for (std::size_t& each : widths) ++each;  // two spaces between columns
  std::string text;
  for (const Cells& each : lines) text += line_of_cells(each, shown, widths) + "\n";
  return text;
}

std::size_t rows_of(const Screen& screen) noexcept {
  return screen.lines > heads ? screen.lines - heads : 0;
}

std::string drawn_table(const std::vector<ChangedRow>& rows, const Screen& screen,
                        std::chrono::milliseconds every, std::size_t names, bool all) {
  const std::vector<Column> shown{mark, name, holder, mode, age, left, waiters};
  std::vector<Cells> lines = lines_of(rows);
  const bool complete = all && rows.size() <= rows_of(screen);
  if (!complete) lines.resize(std::min(lines.size(), std::max<std::size_t>(rows_of(screen), 1)));
  Widths widths = widths_of(lines);
  fit(widths, shown, screen.columns);
  std::string text;
  // Erases the rest of a longer line that was drawn before.
  const auto put = [&](const std::string& line) { text += cut(line, screen.columns) + "\x1b[K\n"; };
  put(clock_time() + ", every " + short_text(every) + "   + began  - ended  * other waiters");
  for (const Cells& each : lines) put(line_of_cells(each, shown, widths));
  if (!complete) put("... and more, of " + std::to_string(names) + " names in all");
  return text;
}

}  // namespace mortise::tool
