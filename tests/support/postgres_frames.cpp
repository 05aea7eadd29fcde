// SPDX-License-Identifier: MIT
#include "support/postgres_frames.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace mortise::test {
namespace {

constexpr std::size_t largest_message = std::size_t{8} << 20U;
constexpr std::size_t header = 5;  // a type and a length, which counts itself

std::uint32_t number_at(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint32_t out = 0;
  for (const char byte : bytes.substr(at, size)) {
    out = out << 8U | static_cast<unsigned char>(byte);
  }
  return out;
}

// The size of the message at `at`; 0: its header is not all there.
std::size_t message_at(std::string_view bytes, std::size_t at) {
  return bytes.size() - at < header ? 0 : 1 + std::size_t{number_at(bytes, at + 1, 4)};
}

// Whether a Bind message has parameters: two names that end with a zero, formats, and the count.
bool has_parameters(std::string_view bind) {
  std::size_t at = header;
  for (int name = 0; name < 2; ++name) at = bind.find('\0', at) + 1;
  at += 2 + 2 * number_at(bind, at, 2);
  return number_at(bind, at, 2) > 0;
}

bool says_listen(std::string_view message) {
  constexpr std::string_view word = "listen ";
  return std::search(message.begin(), message.end(), word.begin(), word.end(),
                     [](char have, char want) {
                       return std::tolower(static_cast<unsigned char>(have)) == want;
                     }) != message.end();
}

}  // namespace

std::optional<std::string> PostgresFrames::take(std::size_t from, std::size_t size) {
  std::string out = buffer_.substr(from, size);
  buffer_.erase(from, size);
  return out;
}

std::string PostgresFrames::rest() {
  scanned_ = 0;
  return std::exchange(buffer_, {});
}

std::optional<std::string> PostgresFrames::next() {
  if (!opaque_ && greeting_) {
    if (auto frame = next_of_greeting(); frame || !opaque_) return frame;
  }
  while (!opaque_) {
    const std::size_t size = message_at(buffer_, scanned_);
    if (size != 0 && size < header) opaque_ = true;
    if (scanned_ + size > largest_message) opaque_ = true;
    if (opaque_) break;
    if (size == 0 || buffer_.size() - scanned_ < size) return std::nullopt;
    const char type = buffer_[scanned_];
    // Notifications come between a request and its reply as well.
    if (of_ == Of::replies && type == 'A') return take(scanned_, size);
    scanned_ += size;
    const std::string_view ends = of_ == Of::requests ? "SQXF" : "Z";
    if (ends.find(type) != std::string_view::npos) return take(0, std::exchange(scanned_, 0));
  }
  if (buffer_.empty()) return std::nullopt;
  return take(0, buffer_.size());
}

// Without an answer frame: more bytes are needed, or the stream has become opaque.
std::optional<std::string> PostgresFrames::next_of_greeting() {
  if (buffer_.empty()) return std::nullopt;
  const char first = buffer_.front();
  if (of_ == Of::replies) {
    // The answer to "may I encrypt?" is one letter.
    if (first_ && buffer_.size() == 1 && (first == 'N' || first == 'S')) {
      opaque_ = first == 'S';
      return take(0, 1);
    }
    const std::size_t size = message_at(buffer_, 0);
    if (size == 0 || buffer_.size() < size) return std::nullopt;
    first_ = false;
    greeting_ = first != 'Z';
    return take(0, size);
  }
  if (first == 'p') {  // a password, in the middle of typed messages
    const std::size_t size = message_at(buffer_, 0);
    if (size == 0 || buffer_.size() < size) return std::nullopt;
    return take(0, size);
  }
  if (first != '\0') {
    // Typed messages of a connection that is up, or TLS.
    greeting_ = false;
    opaque_ = first == '\x16';
    return opaque_ ? std::nullopt : next();
  }
  if (buffer_.size() < 8) return std::nullopt;
  const std::size_t size = number_at(buffer_, 0, 4);
  opaque_ = size < 8 || size > largest_message;
  if (opaque_ || buffer_.size() < size) return std::nullopt;
  return take(0, size);
}

ProxyRequest PostgresFrames::kind_of_request(std::string_view frame) {
  // The beginning, a password, the end, and a Sync alone.
  constexpr std::string_view no_request("\0pXS", 4);
  if (frame.empty() || no_request.find(frame.front()) != std::string_view::npos) {
    return ProxyRequest::greeting;
  }
  for (std::size_t at = 0; at < frame.size();) {
    const std::size_t size = message_at(frame, at);
    if (size == 0) break;
    const std::string_view message = frame.substr(at, size);
    if (message.front() == 'B' && has_parameters(message)) return ProxyRequest::operation;
    if ((message.front() == 'Q' || message.front() == 'P') && says_listen(message)) {
      return ProxyRequest::subscription;
    }
    at += size;
  }
  return ProxyRequest::other;
}

bool PostgresFrames::is_greeting(std::string_view frame) {
  return message_at(frame, 0) >= frame.size() || frame.size() < header;
}

}  // namespace mortise::test
