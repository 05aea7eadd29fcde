// SPDX-License-Identifier: MIT
#include "zookeeper/kept.hpp"

#include <array>
#include <charconv>
#include <system_error>
#include <utility>

namespace mortise::zookeeper {
namespace {

// Of this layout: what a later one writes is not to be misread.
constexpr std::string_view head = "once1";
constexpr std::string_view nobody = "-";
constexpr std::array<std::string_view, 4> states{"absent", "pending", "succeeded", "failed"};

/// Takes what is before the next space, or before the end of the line.
std::string_view take_word(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size() < line.size() ? word.size() + 1 : word.size());
  return word;
}

template <class Number>
bool take_number(std::string_view& line, Number& number) {
  const std::string_view word = take_word(line);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc{} && end == word.data() + word.size() && number >= 0;
}

bool take_state(std::string_view& line, KeyState& state) {
  const std::string_view word = take_word(line);
  for (const KeyState each : {KeyState::pending, KeyState::succeeded, KeyState::failed}) {
    if (word != states.at(static_cast<std::size_t>(each))) continue;
    state = each;
    return true;
  }
  return false;
}

}  // namespace

std::string Kept::bytes() const {
  std::string out(head);
  const auto add = [&out](std::string_view word) { out.append(1, ' ').append(word); };
  add(states.at(static_cast<std::size_t>(record.state)));
  add(std::to_string(record.run));
  add(std::to_string(record.number));
  add(std::to_string(keep.count()));
  add(runner.empty() ? nobody : std::string_view(runner));
  add(attempt);
  add(std::to_string(label.size()));
  add(std::to_string(name.size()));
  add(std::to_string(record.fingerprint.size()));
  out += '\n';
  return out.append(label).append(name).append(record.fingerprint).append(record.bytes);
}

std::optional<Kept> Kept::read(std::string_view bytes) {
  const std::size_t end = bytes.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  std::string_view line = bytes.substr(0, end);
  bytes.remove_prefix(end + 1);
  Kept kept;
  std::int64_t keep = 0;
  std::size_t label = 0;
  std::size_t name = 0;
  std::size_t fingerprint = 0;
  if (take_word(line) != head || !take_state(line, kept.record.state) ||
      !take_number(line, kept.record.run) || !take_number(line, kept.record.number) ||
      !take_number(line, keep)) {
    return std::nullopt;
  }
  kept.runner = take_word(line);
  if (kept.runner == nobody) kept.runner.clear();
  kept.attempt = take_word(line);
  if (!take_number(line, label) || !take_number(line, name) || !take_number(line, fingerprint) ||
      !line.empty()) {
    return std::nullopt;
  }
  if (label > bytes.size() || name > bytes.size() - label ||
      fingerprint > bytes.size() - label - name) {
    return std::nullopt;
  }
  kept.keep = std::chrono::milliseconds(keep);
  kept.label = bytes.substr(0, label);
  kept.name = bytes.substr(label, name);
  kept.record.fingerprint = bytes.substr(label + name, fingerprint);
  kept.record.bytes = bytes.substr(label + name + fingerprint);
  return kept;
}

std::optional<Memo> Memo::read(const Reply& reply) {
  std::optional<Kept> kept = Kept::read(reply.text);
  if (!kept) return std::nullopt;
  Memo memo{
      .there = true, .kept = *std::move(kept), .version = reply.version, .written = reply.mtime};
  if (memo.pending()) memo.kept.record.number = static_cast<std::uint64_t>(reply.mzxid);
  return memo;
}

Record Memo::record(bool held, const LeadersTime& time) const {
  if (!there || (is_over(time) && !held)) return {};
  Record record = kept.record;
  record.held = held && pending();
  return record;
}

}  // namespace mortise::zookeeper
