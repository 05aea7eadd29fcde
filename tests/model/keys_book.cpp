// SPDX-License-Identifier: MIT
#include "model/keys_book.hpp"

#include <bit>
#include <functional>
#include <stdexcept>
#include <string>

namespace mortise::model {

namespace {

// Callers that are told what came of a key, before a new one takes its place.
constexpr std::uint32_t enough_tellings = 10;

KeyWord word_of(KeyState state) noexcept {
  switch (state) {
    case KeyState::absent: return KeyWord::absent;
    case KeyState::pending: return KeyWord::pending;
    case KeyState::succeeded: return KeyWord::succeeded;
    case KeyState::failed: break;
  }
  return KeyWord::failed;
}

KeyEvent event(const KeyCall& call, KeyStep step, KeyWord word, std::int64_t now) {
  KeyEvent event;
  event.time = now;
  event.op = call.op;
  event.key = call.key;
  event.process = call.process;
  event.owner = call.owner;
  event.step = step;
  event.word = word;
  return event;
}

}  // namespace

std::uint64_t digest_of(std::string_view bytes) noexcept {
  return std::hash<std::string_view>()(bytes);
}

KeyBook::KeyBook(std::uint32_t keys, std::uint64_t events)
    : keys_(keys), file_(HistoryFile::create(directory_.file("keys"), events)) {
  if (keys < window || keys > most_keys) throw std::invalid_argument("KeyBook: number of keys");
}

// The file tells an event by its size and its last word; what is between is the writer's.
std::uint64_t KeyBook::append(KeyEvent event) { return file_.append(std::bit_cast<Event>(event)); }

KeyCall KeyBook::ask(const KeyCall& caller, KeyManner manner, std::int64_t now) {
  KeyEvent made = event(caller, KeyStep::asked, KeyWord::none, now);
  made.manner = manner;
  KeyCall call = caller;
  call.op = append(made);
  return call;
}

void KeyBook::begun(const KeyCall& call, std::uint64_t token, std::uint64_t number,
                    std::int64_t now) {
  KeyEvent made = event(call, KeyStep::begun, KeyWord::none, now);
  made.token = token;
  made.number = number;
  append(made);
  pages_->begun[call.key].store(true);
}

void KeyBook::told(const KeyCall& call, const mortise::Outcome& outcome, std::int64_t now) {
  const bool failed = outcome.state() == KeyState::failed;
  const std::string& bytes = failed ? outcome.reason() : outcome.result();
  KeyEvent made = event(call, KeyStep::told, word_of(outcome.state()), now);
  made.token = outcome.token().value();
  made.number = outcome.number();
  made.digest = digest_of(bytes);
  made.bytes = static_cast<std::uint32_t>(bytes.size());
  append(made);
}

void KeyBook::told_mismatch(const KeyCall& call, std::int64_t now) {
  append(event(call, KeyStep::told, KeyWord::mismatch, now));
}

void KeyBook::concluding(const KeyCall& call, KeyState state, std::string_view bytes,
                         std::int64_t now) {
  KeyEvent made = event(call, KeyStep::concluding, word_of(state), now);
  made.digest = digest_of(bytes);
  made.bytes = static_cast<std::uint32_t>(bytes.size());
  append(made);
}

void KeyBook::concluded(const KeyCall& call, KeyWord word, std::int64_t now) {
  append(event(call, KeyStep::concluded, word, now));
}

std::vector<KeyEvent> KeyBook::read() const {
  std::vector<KeyEvent> events;
  for (const Event& event : file_.read()) events.push_back(std::bit_cast<KeyEvent>(event));
  return events;
}

void KeyBook::settled(std::uint32_t key) noexcept {
  ++pages_->told[key];
  std::uint32_t front = pages_->front.load();
  while (front + window < keys_ && pages_->told[front].load() >= enough_tellings) {
    if (pages_->front.compare_exchange_weak(front, front + 1)) ++front;
  }
}

}  // namespace mortise::model
