// SPDX-License-Identifier: MIT
#include "simulation/postgres/wire.hpp"

#include <stdexcept>

namespace simulation::postgres {
namespace {

constexpr std::size_t length_size = 4;

}  // namespace

std::uint64_t number_of(std::string_view bytes) noexcept {
  std::uint64_t value = 0;
  for (const char c : bytes) value = (value << 8U) | static_cast<unsigned char>(c);
  return value;
}

void append_number(std::string& out, std::uint64_t value, std::size_t size) {
  for (std::size_t i = size; i-- > 0;) out += static_cast<char>(value >> (8 * i));
}

MessageWriter::MessageWriter(std::string& out, char kind) : out_(out), length_at_(out.size()) {
  if (kind != 0) {
    out_ += kind;
    ++length_at_;
  }
  out_.append(length_size, '\0');
}

MessageWriter::~MessageWriter() {
  const std::size_t length = out_.size() - length_at_;
  for (std::size_t i = 0; i < length_size; ++i) {
    out_[length_at_ + i] = static_cast<char>(length >> (8 * (length_size - 1 - i)));
  }
}

MessageWriter& MessageWriter::byte(char value) {
  out_ += value;
  return *this;
}

MessageWriter& MessageWriter::int16(std::int16_t value) {
  append_number(out_, static_cast<std::uint16_t>(value), sizeof value);
  return *this;
}

MessageWriter& MessageWriter::int32(std::int32_t value) {
  append_number(out_, static_cast<std::uint32_t>(value), sizeof value);
  return *this;
}

MessageWriter& MessageWriter::bytes(std::string_view value) {
  out_ += value;
  return *this;
}

MessageWriter& MessageWriter::text(std::string_view value) {
  out_ += value;
  out_ += '\0';
  return *this;
}

std::string_view MessageReader::bytes(std::size_t count) noexcept {
  if (count > rest_.size()) {
    good_ = false;
    rest_ = {};
    return {};
  }
  const std::string_view taken = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return taken;
}

char MessageReader::byte() noexcept {
  const std::string_view one = bytes(1);
  return one.empty() ? '\0' : one.front();
}

std::int16_t MessageReader::int16() noexcept {
  return static_cast<std::int16_t>(number_of(bytes(sizeof(std::int16_t))));
}

std::int32_t MessageReader::int32() noexcept {
  return static_cast<std::int32_t>(number_of(bytes(sizeof(std::int32_t))));
}

std::string_view MessageReader::text() noexcept {
  const std::size_t end = rest_.find('\0');
  if (end == std::string_view::npos) {
    good_ = false;
    rest_ = {};
    return {};
  }
  const std::string_view taken = rest_.substr(0, end);
  rest_.remove_prefix(end + 1);
  return taken;
}

void MessageStream::append(std::string_view bytes) {
  if (read_ == bytes_.size()) {
    bytes_.clear();
    read_ = 0;
  }
  bytes_ += bytes;
}

std::string_view MessageStream::unread() const noexcept {
  return std::string_view(bytes_).substr(read_);
}

bool MessageStream::whole(bool first) const noexcept {
  std::string_view all = unread();
  if (!first && !all.empty()) all.remove_prefix(1);
  return all.size() >= length_size && all.size() >= number_of(all.substr(0, length_size));
}

std::optional<Message> MessageStream::next(bool first) {
  if (!whole(first)) return std::nullopt;
  const std::string_view all = unread();
  const std::size_t head = first ? 0 : 1;
  const std::size_t length = number_of(all.substr(head, length_size));
  if (length < length_size) throw std::runtime_error("a message with an impossible length");
  read_ += head + length;
  return Message{.kind = first ? '\0' : all.front(),
                 .body = all.substr(head + length_size, length - length_size)};
}

}  // namespace simulation::postgres
