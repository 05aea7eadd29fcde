// SPDX-License-Identifier: MIT
#include "lines.hpp"

#include <charconv>
#include <chrono>
#include <cstdint>
#include <sstream>

namespace own {
namespace {

using mortise::Support;
using mortise::remote::Message;
using std::chrono::microseconds;

std::string microseconds_of(std::chrono::nanoseconds time) {
  return std::to_string(std::chrono::ceil<microseconds>(time).count());
}

[[noreturn]] void refuse() {
  throw mortise::Error({mortise::Errc::protocol, "a line of the server makes no sense"});
}

// The words of one line, read one by one.
class Words {
 public:
  explicit Words(std::string_view line) : words_{std::string(line)} {}
  [[nodiscard]] bool any() { return !(words_ >> std::ws).eof(); }
  [[nodiscard]] std::string word() {
    std::string word;
    if (!(words_ >> word)) refuse();
    return word;
  }
  [[nodiscard]] std::uint64_t number(int base = 10, std::string digits = {}) {
    if (digits.empty()) digits = word();
    std::uint64_t number = 0;
    const char* const end = digits.data() + digits.size();
    const auto [last, error] = std::from_chars(digits.data(), end, number, base);
    if (last != end || error != std::errc{}) refuse();
    return number;
  }
  [[nodiscard]] microseconds time() { return microseconds(number()); }
  [[nodiscard]] std::string bytes() {
    const std::string digits = word();
    std::string bytes;
    if (digits.size() % 2 != 1 || digits.front() != 'x') refuse();
    for (std::size_t i = 1; i < digits.size(); i += 2) {
      bytes += static_cast<char>(number(16, digits.substr(i, 2)));
    }
    return bytes;
  }
  [[nodiscard]] mortise::AttemptId attempt() {
    const std::string digits = word();
    if (digits.size() != 48) refuse();
    return {number(16, digits.substr(0, 16)), number(16, digits.substr(16, 16)),
            number(16, digits.substr(32))};
  }

 private:
  std::istringstream words_;
};

std::optional<mortise::Holder> holder_in(Words& words) {
  if (!words.any()) return std::nullopt;
  mortise::Holder holder;
  holder.token = mortise::token_of(words.number());
  holder.expires_in = std::chrono::ceil<std::chrono::milliseconds>(words.time());
  holder.waiters = words.number();
  holder.label = words.bytes();
  return holder;
}

}  // namespace

mortise::StoreCapabilities Lines::capabilities() const {
  return {.leases = Support::yes,
          .fencing = Support::yes,
          .fair = Support::yes,
          .push_wakeup = Support::yes,
          .one_wake = Support::yes,
          .survives_restart = Support::no,
          .survives_failover = Support::no,
          .min_hold = Support::yes};
}

std::string Lines::hex(std::string_view bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text("x");  // so that even an empty text is a word
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += digits[value >> 4U];
    text += digits[value & 15U];
  }
  return text;
}

// [requests]
void Lines::greet(std::string& bytes) const { bytes += "hello\n"; }

void Lines::take(std::string& bytes, const mortise::Acquisition::Request& request,
                 mortise::remote::ServerTime void_after) const {
  bytes += "take " + hex(request.name) + ' ' + request.attempt.text() + ' ' +
           microseconds_of(request.lease) + ' ' + std::to_string(void_after.count()) +
           (request.wait ? " 1 " : " 0 ") + hex(request.label) + '\n';
}
// [/requests]

void Lines::cancel(std::string& bytes, const mortise::Acquisition::Request& request) const {
  bytes += "cancel " + hex(request.name) + ' ' + request.attempt.text() + '\n';
}

void Lines::renew(std::string& bytes, const std::vector<mortise::Renewal::Item>& holds) const {
  bytes += "renew";
  for (const mortise::Renewal::Item& each : holds) {
    bytes += ' ' + hex(each.hold.name) + ' ' + each.hold.attempt.text() + ' ' +
             std::to_string(each.hold.number) + ' ' + microseconds_of(each.lease);
  }
  bytes += '\n';
}

void Lines::release(std::string& bytes, const mortise::HoldId& hold) const {
  bytes += "release " + hex(hold.name) + ' ' + hold.attempt.text() + ' ' +
           std::to_string(hold.number) + '\n';
}

void Lines::inspect(std::string& bytes, const std::string& name) const {
  bytes += "holder " + hex(name) + '\n';
}

// [read]
std::optional<Message> Lines::read(std::string_view& bytes) const {
  const std::size_t end = bytes.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  Words words(bytes.substr(0, end));
  bytes.remove_prefix(end + 1);
  using Kind = Message::Kind;
  const std::string first = words.word();
  if (first == "error") return Message{.why = {mortise::Errc::protocol, words.word()}};
  Message message{.now = words.time()};
  if (first == "granted" || first == "handed") {
    message.kind = Kind::granted;
    message.number = words.number();
    message.left = words.time();
    if (first == "granted") return message;
    message.kind = Kind::handed_over;
    message.name = words.bytes();
    message.attempt = words.attempt();
  } else if (first == "queued" || first == "busy" || first == "holder") {
    message.kind = first == "queued" ? Kind::queued : first == "busy" ? Kind::busy : Kind::holder;
    message.holder = holder_in(words);
  } else if (first == "renewed") {
    using Answer = mortise::Renewal::Answer;
    message.kind = Kind::renewed;
    while (words.any()) {
      message.renewed.push_back(words.number() == 1 ? Answer::renewed : Answer::lost);
    }
  } else if (first == "expired") {
    message.kind = Kind::expired;
  } else if (first == "released" || first == "before" || first == "absent") {
    message.kind = first == "released" ? Kind::released
                   : first == "before" ? Kind::released_before
                                       : Kind::absent;
  } else if (first == "hello") {
    message.kind = Kind::greeting;
    message.server = words.word();
  } else {
    refuse();
  }
  return message;
}
// [/read]

}  // namespace own
