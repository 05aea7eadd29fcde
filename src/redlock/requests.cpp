// SPDX-License-Identifier: MIT
// Few arguments, since each costs each of the servers time; and no allocation but for a batch.
#include "redlock/requests.hpp"

#include "base/scratch.hpp"
#include "redis/answer.hpp"
#include "redis/command.hpp"
#include "redis/lock_key.hpp"
#include "redlock/scripts.hpp"
#include "remote/outbox.hpp"

#include <array>
#include <span>

namespace mortise::redlock {
namespace {

using redis::AttemptText;
using redis::Digits;

constexpr std::size_t most_words = 12;

Digits lease_digits(std::chrono::nanoseconds lease) {
  return Digits(static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(lease).count()));
}

char flag(bool value) { return value ? '1' : '0'; }

/// Whether older copies may be on their way, of a request for a vote in that mode.
char copies_flag(bool copies, Mode mode) {
  if (mode == Mode::shared) return copies ? 'S' : 's';
  return flag(copies);
}

/// Appends the call of a script for one lock.
void append_call(std::string& out, const redis::Script& script, const Passage& passage,
                 std::string_view prefix, std::string_view name,
                 std::initializer_list<std::string_view> words) {
  base::Scratch<struct RequestKey> scratch;
  std::string& key = scratch.text();
  redis::append_lock_key(key, prefix, name);
  std::array<std::string_view, most_words> all{passage.whole ? "EVAL" : "EVALSHA",
                                               passage.whole ? script.text : script.sha, "1", key};
  std::size_t size = 4;
  for (const std::string_view word : words) all.at(size++) = word;
  redis::append_command(out, std::span(all).first(size));
}

void append_release(std::string& out, const Passage& passage, std::string_view prefix,
                    std::string_view name, std::string_view ours, bool leaves) {
  const std::array<char, 3> flags{'q', flag(passage.copies), flag(leaves)};
  const Digits step(passage.step);
  append_call(out, scripts::release, passage, prefix, name,
              {ours, {flags.data(), flags.size()}, step});
}

}  // namespace

void Requests::take(std::string& out, const Passage& passage, const Acquisition::Request& request,
                    Manners manners, std::uint64_t proposal) const {
  const AttemptText attempt(request.attempt);
  const std::array<char, 4> flags{'q', copies_flag(passage.copies, request.mode),
                                  flag(manners.interested), static_cast<char>(manners.steps_back)};
  const Digits step(passage.step);
  const Digits lease = lease_digits(request.lease);
  const Digits number(proposal);
  const std::string_view all{flags.data(), flags.size()};
  if (request.mode != Mode::shared) {
    return append_call(out, scripts::acquire, passage, prefix_, request.name,
                       {attempt.view(), all, step, lease, request.label, number});
  }
  const AttemptText beside(request.beside.value_or(AttemptId{}));
  append_call(out, scripts::acquire, passage, prefix_, request.name,
              {attempt.view(), all, step, lease, request.label, number,
               request.beside ? beside.view() : std::string_view()});
}

void Requests::settle(std::string& out, const Passage& passage, const HoldId& hold) const {
  const AttemptText attempt(hold.attempt);
  const Digits number(hold.number);
  const Digits step(passage.step);
  append_call(out, scripts::settle, passage, prefix_, hold.name,
              {attempt.view(), "q", step, number});
}

void Requests::release(std::string& out, const Passage& passage, const HoldId& hold) const {
  const AttemptText ours(hold.attempt, hold.number);
  append_release(out, passage, prefix_, hold.name, ours.view(), true);
}

void Requests::undo(std::string& out, const Passage& passage, std::string_view name,
                    const AttemptId& attempt, bool leaves) const {
  base::Scratch<struct RequestHold> scratch;
  std::string& ours = scratch.text();
  ours.assign(AttemptText(attempt).view()).append(1, ' ');
  append_release(out, passage, prefix_, name, ours, leaves);
}

void Requests::renew(std::string& out, const Passage& passage,
                     const std::vector<Renewal::Item>& items) const {
  std::vector<std::string> texts;  // reserved, so that the views of it stay
  std::vector<std::string_view> words;
  texts.reserve(items.size() * 3 + 1);
  words.reserve(items.size() * 3 + 5);
  words.emplace_back(passage.whole ? "EVAL" : "EVALSHA");
  words.push_back(passage.whole ? scripts::renew.text : scripts::renew.sha);
  words.push_back(texts.emplace_back(std::to_string(items.size())));
  for (const Renewal::Item& item : items) {
    words.push_back(texts.emplace_back(redis::lock_key(prefix_, item.hold.name)));
  }
  words.emplace_back();
  words.emplace_back("q");
  for (const Renewal::Item& item : items) {
    words.push_back(texts.emplace_back(AttemptText(item.hold.attempt, item.hold.number).view()));
    words.push_back(texts.emplace_back(lease_digits(item.lease)));
  }
  redis::append_command(out, words);
}

void Requests::relock(std::string& out, const Passage& passage, const HoldId& hold,
                      std::chrono::nanoseconds lease) const {
  const AttemptText ours(hold.attempt, hold.number);
  const std::array<char, 2> flags{'q', copies_flag(passage.copies, hold.mode)};
  const Digits step(passage.step);
  const Digits time = lease_digits(lease);
  append_call(out, scripts::relock, passage, prefix_, hold.name,
              {ours.view(), {flags.data(), flags.size()}, step, time});
}

void Requests::inspect(std::string& out, const Passage& passage, std::string_view name) const {
  append_call(out, scripts::inspect, passage, prefix_, name, {});
}

void Requests::check(std::string& out, const Passage& passage) const {
  append_call(out, scripts::inspect, passage, prefix_, remote::probed_name, {"", "q", "w"});
}

void Requests::whose(std::string& out, const Passage& passage, std::string_view name) const {
  append_call(out, scripts::whose, passage, prefix_, name, {});
}

std::string Requests::inbox(const AttemptId& of_client) const {
  return (prefix_ + "inbox:").append(AttemptText(of_client).client());
}

}  // namespace mortise::redlock
