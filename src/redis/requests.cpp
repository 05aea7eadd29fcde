// SPDX-License-Identifier: MIT
#include "redis/requests.hpp"

#include "redis/answer.hpp"
#include "redis/command.hpp"
#include "redis/lock_key.hpp"

#include <array>
#include <charconv>

namespace mortise::redis {
namespace {

/// A number as text, without an allocation.
class Digits {
 public:
  explicit Digits(std::uint64_t value) {
    char* const end = std::to_chars(text_.data(), text_.data() + text_.size(), value).ptr;
    size_ = static_cast<std::size_t>(end - text_.data());
  }
  operator std::string_view() const { return {text_.data(), size_}; }

 private:
  std::array<char, 20> text_{};
  std::size_t size_;
};

Digits milliseconds(std::chrono::nanoseconds lease) {
  return Digits(static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(lease).count()));
}

std::string_view flag(bool value) { return value ? "1" : "0"; }

}  // namespace

/// The words of one call; views, so what they show must live until `append()`.
class Requests::Line {
 public:
  Line(const Script& script, const Passage& passage) {
    words_.reserve(18);
    add(passage.whole ? "EVAL" : "EVALSHA");
    add(passage.whole ? script.text : script.sha);
  }
  /// For one lock.
  Line(const Requests& requests, const Script& script, const Passage& passage,
       std::string_view name)
      : Line(script, passage) {
    const bool both = requests.settings_.turns == Turns::redisson;
    key_ = lock_key(requests.settings_.prefix, name);
    add(both ? "2" : "1");
    add(key_);
    if (both) add(name);
    add_constants(requests);
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  void add(std::string_view word) { words_.push_back(word); }
  void add_constants(const Requests& requests) {
    add(requests.inboxes_);
    add({&requests.mode_, 1});
  }
  void append(std::string& out) const { append_command(out, words_); }

 private:
  std::string key_;
  std::vector<std::string_view> words_;
};

Requests::Requests(const Settings& settings)
    : settings_(settings),
      inboxes_(settings.prefix + "inbox:"),
      mode_(static_cast<char>(settings.turns)) {}

void Requests::subscribe(std::string& out, std::string_view channel) const {
  append_command(out, std::array<std::string_view, 2>{"SUBSCRIBE", channel});
}

void Requests::unsubscribe(std::string& out, std::string_view channel) const {
  append_command(out, std::array<std::string_view, 2>{"UNSUBSCRIBE", channel});
}

std::string Requests::inbox(const AttemptId& of_client) const {
  return inboxes_ + of_client.text().substr(0, 32);
}

Failure Requests::check_name(std::string_view name) const {
  if (settings_.turns != Turns::redisson || name.find_first_of("{}") == std::string_view::npos) {
    return {};
  }
  return {Errc::misconfigured, "with interop=redisson a lock's name has no braces"};
}

std::string redisson_channel(std::string_view name) {
  return "redisson_lock__channel:{" + std::string(name) + "}";
}

void Requests::acquire(std::string& out, const Passage& passage,
                       const Acquisition::Request& request, bool wait) const {
  Line line(*this, scripts::acquire, passage, request.name);
  const std::string attempt = attempt_text(request.attempt);
  const Digits epoch(passage.epoch);
  const Digits lease = milliseconds(request.lease);
  line.add(attempt);
  line.add(epoch);
  line.add(flag(passage.copies));
  line.add(flag(wait));
  line.add(lease);
  line.add(request.label);
  line.append(out);
}

void Requests::cancel(std::string& out, const Passage& passage,
                      const Acquisition::Request& request) const {
  Line line(*this, scripts::cancel, passage, request.name);
  const std::string attempt = attempt_text(request.attempt);
  const Digits epoch(passage.epoch);
  line.add(attempt);
  line.add(epoch);
  line.add(flag(passage.copies));
  line.append(out);
}

void Requests::release(std::string& out, const Passage& passage, const HoldId& hold,
                       const Acquisition::Request* successor, bool wait,
                       bool copies_of_successor) const {
  Line line(*this, scripts::release, passage, hold.name);
  const std::string attempt = attempt_text(hold.attempt);
  const Digits number(hold.number);
  const Digits epoch(passage.epoch);
  line.add(attempt);
  line.add(number);
  line.add(epoch);
  line.add(flag(passage.copies));
  const std::string next = successor != nullptr ? attempt_text(successor->attempt) : std::string();
  line.add(next);
  if (successor == nullptr) return line.append(out);
  const Digits lease = milliseconds(successor->lease);
  line.add(flag(wait));
  line.add(lease);
  line.add(successor->label);
  line.add(flag(copies_of_successor));
  line.append(out);
}

void Requests::renew(std::string& out, const Passage& passage,
                     const std::vector<Renewal::Item>& items) const {
  Line line(scripts::renew, passage);
  const bool both = settings_.turns == Turns::redisson;
  std::vector<std::string> texts;
  texts.reserve(items.size() * 2);
  std::vector<Digits> numbers;
  numbers.reserve(items.size() * 2 + 1);
  numbers.emplace_back(items.size() * (both ? 2 : 1));
  line.add(numbers.back());
  for (const Renewal::Item& item : items) {
    line.add(texts.emplace_back(lock_key(settings_.prefix, item.hold.name)));
    if (both) line.add(item.hold.name);
  }
  line.add_constants(*this);
  for (const Renewal::Item& item : items) {
    line.add(texts.emplace_back(attempt_text(item.hold.attempt)));
    line.add(numbers.emplace_back(item.hold.number));
    line.add(numbers.emplace_back(milliseconds(item.lease)));
  }
  line.append(out);
}

void Requests::inspect(std::string& out, const Passage& passage, std::string_view name) const {
  Line line(*this, scripts::inspect, passage, name);
  line.append(out);
}

void Requests::force_release(std::string& out, const Passage& passage,
                             std::string_view name) const {
  Line line(*this, scripts::force_release, passage, name);
  line.append(out);
}

}  // namespace mortise::redis
