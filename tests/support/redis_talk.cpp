// SPDX-License-Identifier: MIT
// hiredis formats and parses; the socket is our own, because hiredis 0.14 writes without
// MSG_NOSIGNAL and bounds each read and not the whole command.
#include "support/redis_talk.hpp"

#include "support/loopback.hpp"

#include <hiredis/hiredis.h>

#include <cerrno>
#include <sstream>
#include <utility>

namespace mortise::test {
namespace {

using Clock = std::chrono::steady_clock;

RedisAnswer answer_of(const redisReply& reply) {
  using Kind = RedisAnswer::Kind;
  RedisAnswer out;
  switch (reply.type) {
    case REDIS_REPLY_NIL: break;
    case REDIS_REPLY_INTEGER:
      out.kind = Kind::integer;
      out.integer = reply.integer;
      break;
    case REDIS_REPLY_ARRAY:
      out.kind = Kind::items;
      for (std::size_t i = 0; i < reply.elements; ++i) {
        out.items.push_back(answer_of(*reply.element[i]));
      }
      break;
    default:
      out.kind = reply.type == REDIS_REPLY_ERROR ? Kind::error : Kind::text;
      out.text.assign(reply.str, static_cast<std::size_t>(reply.len));
  }
  return out;
}

// "key<separator>value" per line or word, as INFO and CLIENT LIST have it.
RedisTalk::Figures figures_of(const std::string& text, char between, char separator) {
  RedisTalk::Figures out;
  std::istringstream stream(text);
  for (std::string field; std::getline(stream, field, between);) {
    while (!field.empty() && (field.back() == '\r' || field.back() == '\n')) field.pop_back();
    const std::size_t at = field.find(separator);
    if (at != std::string::npos) out[field.substr(0, at)] = field.substr(at + 1);
  }
  return out;
}

}  // namespace

std::string RedisAnswer::words() const {
  switch (kind) {
    case Kind::nil: return "(nil)";
    case Kind::integer: return "(integer) " + std::to_string(integer);
    case Kind::error: return "(error) " + text;
    case Kind::text: return '"' + text + '"';
    case Kind::items: break;
  }
  std::string out;
  for (const RedisAnswer& item : items) out += (out.empty() ? "" : ", ") + item.words();
  return "[" + out + "]";
}

RedisTalk::RedisTalk(std::uint16_t port, const std::string& user, const std::string& password,
                     std::chrono::milliseconds at_most)
    : fd_(connect_to<RedisTalkError>(port, Clock::now() + at_most)),
      reader_(::redisReaderCreate()),
      at_most_(at_most) {
  try {
    log_in(user, password);
  } catch (...) {
    ::redisReaderFree(reader_);
    ::close(fd_);
    throw;
  }
}

void RedisTalk::log_in(const std::string& user, const std::string& password) {
  if (user.empty() && password.empty()) return;
  const RedisAnswer answer = command({"AUTH", user.empty() ? "default" : user, password});
  if (answer.is_error()) throw RedisTalkError("AUTH: " + answer.text);
}

RedisTalk::RedisTalk(RedisTalk&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      reader_(std::exchange(other.reader_, nullptr)),
      at_most_(other.at_most_) {}

RedisTalk::~RedisTalk() {
  if (reader_ != nullptr) ::redisReaderFree(reader_);
  if (fd_ >= 0) ::close(fd_);
}

void RedisTalk::send(const Command& words) {
  std::vector<const char*> argv;
  std::vector<std::size_t> sizes;
  for (const std::string& word : words) {
    argv.push_back(word.data());
    sizes.push_back(word.size());
  }
  char* bytes = nullptr;
  const int size =
      ::redisFormatCommandArgv(&bytes, static_cast<int>(argv.size()), argv.data(), sizes.data());
  if (size < 0) throw std::bad_alloc();
  const std::string copy(bytes, static_cast<std::size_t>(size));
  ::redisFreeCommand(bytes);
  send_bytes(copy);
}

void RedisTalk::send_bytes(std::string_view bytes) {
  const auto until = Clock::now() + at_most_;
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      if (!wait_for<RedisTalkError>(fd_, POLLOUT, until))
        throw RedisTalkError("cannot send in time");
    } else if (errno != EINTR) {
      fail_with_errno<RedisTalkError>("cannot send");
    }
  }
}

std::optional<RedisAnswer> RedisTalk::receive(std::chrono::milliseconds within) {
  const auto until = Clock::now() + within;
  char buffer[16384];
  while (true) {
    void* reply = nullptr;
    if (::redisReaderGetReply(reader_, &reply) != REDIS_OK) {
      throw RedisTalkError(std::string("no RESP: ") + static_cast<const char*>(reader_->errstr));
    }
    if (reply != nullptr) {
      RedisAnswer answer = answer_of(*static_cast<const redisReply*>(reply));
      ::freeReplyObject(reply);
      return answer;
    }
    if (!wait_for<RedisTalkError>(fd_, POLLIN, until)) return std::nullopt;
    const ssize_t size = ::recv(fd_, buffer, sizeof buffer, 0);
    if (size == 0) throw RedisTalkError("the server has closed the connection");
    if (size > 0) {
      ::redisReaderFeed(reader_, buffer, static_cast<std::size_t>(size));
    } else if (errno != EINTR && errno != EAGAIN) {
      fail_with_errno<RedisTalkError>("cannot receive");
    }
  }
}

RedisAnswer RedisTalk::command(const Command& words) {
  send(words);
  std::optional<RedisAnswer> answer = receive(at_most_);
  if (!answer) throw RedisTalkError(words.front() + ": no answer in time");
  return *std::move(answer);
}

RedisAnswer RedisTalk::expect_ok(const Command& words) {
  RedisAnswer answer = command(words);
  if (answer.is_error()) throw RedisTalkError(words.front() + ": " + answer.text);
  return answer;
}

RedisTalk::Figures RedisTalk::info(const std::string& section) {
  return figures_of(expect_ok({"INFO", section}).text, '\n', ':');
}

std::map<std::string, std::uint64_t> RedisTalk::command_stats() {
  constexpr std::string_view prefix = "cmdstat_";
  std::map<std::string, std::uint64_t> out;
  for (const auto& [name, figures] : info("commandstats")) {
    if (name.starts_with(prefix)) {
      out[name.substr(prefix.size())] = std::stoull(figures_of(figures, ',', '=').at("calls"));
    }
  }
  return out;
}

std::vector<RedisTalk::Figures> RedisTalk::clients() {
  std::vector<Figures> out;
  std::istringstream lines(expect_ok({"CLIENT", "LIST"}).text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) out.push_back(figures_of(line, ' ', '='));
  }
  return out;
}

}  // namespace mortise::test
