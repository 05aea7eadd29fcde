// SPDX-License-Identifier: MIT
// Few arguments, since each costs each of the servers time; and no allocation but for a batch.
#include "redlock/requests.hpp"

#include "base/scratch.hpp"
#include "redis/store/answer.hpp"
#include "redis/store/command.hpp"
#include "redis/store/lock_key.hpp"
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

const redis::Script& script_for(Mode mode) {
  return mode == Mode::shared ? scripts::share : scripts::acquire;
}

/// @param number empty = any
void append_release(std::string& out, const Passage& passage, std::string_view prefix,
                    std::string_view name, const AttemptId& attempt, std::string_view number,
                    bool leaves, std::chrono::milliseconds barred) {
  const AttemptText whose(attempt);
  const Digits step(passage.step);
  const Digits time(static_cast<std::uint64_t>(barred.count()));
  append_call(out, scripts::release, passage, prefix, name,
              {whose.view(), number, step, leaves ? "1" : "0",
               barred.count() > 0 ? std::string_view(time) : std::string_view()});
}

}  // namespace

void Requests::take(std::string& out, const Passage& passage, const Acquisition::Request& request,
                    Manners manners, std::uint64_t proposal) const {
  const AttemptText attempt(request.attempt);
  const std::array<char, 2> flags{manners.interested ? '1' : '0',
                                  static_cast<char>(manners.steps_back)};
  const Digits step(passage.step);
  const Digits moment(static_cast<std::uint64_t>(passage.void_after.count()));
  const Digits lease = lease_digits(request.lease);
  const Digits number(proposal);
  const std::string_view manner{flags.data(), flags.size()};
  if (request.mode != Mode::shared) {
    return append_call(out, scripts::acquire, passage, prefix_, request.name,
                       {attempt.view(), step, moment, lease, number, request.label, manner});
  }
  const AttemptText beside(request.beside.value_or(AttemptId{}));
  append_call(out, scripts::share, passage, prefix_, request.name,
              {attempt.view(), step, moment, lease, number, request.label, manner,
               request.beside ? beside.view() : std::string_view()});
}

void Requests::settle(std::string& out, const Passage& passage, const HoldId& hold) const {
  const AttemptText attempt(hold.attempt);
  const Digits number(hold.number);
  const Digits step(passage.step);
  append_call(out, scripts::settle, passage, prefix_, hold.name, {attempt.view(), step, number});
}

void Requests::release(std::string& out, const Passage& passage, const HoldId& hold,
                       std::chrono::milliseconds barred) const {
  append_release(out, passage, prefix_, hold.name, hold.attempt, Digits(hold.number), true, barred);
}

void Requests::undo(std::string& out, const Passage& passage, std::string_view name,
                    const AttemptId& attempt, bool leaves, std::chrono::milliseconds barred) const {
  append_release(out, passage, prefix_, name, attempt, {}, leaves, barred);
}

void Requests::renew(std::string& out, const Passage& passage,
                     const std::vector<Renewal::Item>& items) const {
  std::vector<std::string> texts;  // reserved, so that the views of it stay
  std::vector<std::string_view> words;
  texts.reserve(items.size() * 4 + 1);
  words.reserve(items.size() * 4 + 3);
  words.emplace_back(passage.whole ? "EVAL" : "EVALSHA");
  words.push_back(passage.whole ? scripts::renew.text : scripts::renew.sha);
  words.push_back(texts.emplace_back(std::to_string(items.size())));
  for (const Renewal::Item& item : items) {
    words.push_back(texts.emplace_back(redis::lock_key(prefix_, item.hold.name)));
  }
  for (const Renewal::Item& item : items) {
    words.push_back(texts.emplace_back(AttemptText(item.hold.attempt).view()));
    words.push_back(texts.emplace_back(Digits(item.hold.number)));
    words.push_back(texts.emplace_back(lease_digits(item.lease)));
  }
  redis::append_command(out, words);
}

void Requests::relock(std::string& out, const Passage& passage, const HoldId& hold,
                      std::chrono::nanoseconds lease) const {
  const AttemptText attempt(hold.attempt);
  const Digits step(passage.step);
  const Digits moment(static_cast<std::uint64_t>(passage.void_after.count()));
  const Digits time = lease_digits(lease);
  const Digits number(hold.number);
  append_call(out, script_for(hold.mode), passage, prefix_, hold.name,
              {attempt.view(), step, moment, time, number, "", "hold"});
}

void Requests::inspect(std::string& out, const Passage& passage, std::string_view name) const {
  append_call(out, scripts::inspect, passage, prefix_, name, {""});
}

void Requests::check(std::string& out, const Passage& passage) const {
  append_call(out, scripts::inspect, passage, prefix_, remote::probed_name, {"write"});
}

void Requests::whose(std::string& out, const Passage& passage, std::string_view name) const {
  append_call(out, scripts::inspect, passage, prefix_, name, {"who"});
}

std::string Requests::inbox(const AttemptId& of_client) const {
  return (prefix_ + "inbox:").append(AttemptText(of_client).client());
}

}  // namespace mortise::redlock
