// SPDX-License-Identifier: MIT
#include "raw_redis.hpp"

#include <hiredis/hiredis.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace mortise::bench {

RawCommand::RawCommand(std::vector<std::string> words) : words_(std::move(words)) {
  for (const std::string& word : words_) {
    texts_.push_back(word.data());
    sizes_.push_back(word.size());
  }
}

std::size_t RawCommand::place_of(std::string_view word) const {
  const auto found = std::find(words_.begin(), words_.end(), word);
  if (found == words_.end() || std::find(found + 1, words_.end(), word) != words_.end()) {
    throw std::runtime_error("a command without the word " + std::string(word));
  }
  return static_cast<std::size_t>(found - words_.begin());
}

void RawCommand::set(std::size_t place, std::string_view word) {
  words_[place].assign(word);
  texts_[place] = words_[place].data();
  sizes_[place] = word.size();
}

void RawCommand::overwrite_end(std::size_t place, std::string_view with) {
  std::copy(with.begin(), with.end(),
            words_[place].end() - static_cast<std::ptrdiff_t>(with.size()));
}

void FreeReply::operator()(redisReply* reply) const noexcept { ::freeReplyObject(reply); }

void RawRedis::Free::operator()(redisContext* context) const noexcept { ::redisFree(context); }

RawRedis::RawRedis(std::uint16_t port) : context_(::redisConnect("127.0.0.1", port)) {
  if (!context_) throw std::bad_alloc();
  if (context_->err != 0) throw std::runtime_error(context_->errstr);
}

RawReply RawRedis::checked(void* reply) {
  RawReply owned(static_cast<redisReply*>(reply));
  if (!owned) throw std::runtime_error(context_->errstr);
  if (owned->type == REDIS_REPLY_ERROR) throw std::runtime_error(owned->str);
  return owned;
}

RawReply RawRedis::ask(RawCommand& command) {
  return checked(
      ::redisCommandArgv(context_.get(), command.count(), command.texts(), command.sizes()));
}

RawReply RawRedis::receive() {
  void* reply = nullptr;
  if (::redisGetReply(context_.get(), &reply) != REDIS_OK) {
    throw std::runtime_error(context_->errstr);
  }
  return checked(reply);
}

std::string RawRedis::text(RawCommand&& command) {
  const RawReply reply = ask(command);
  return reply->str == nullptr ? std::string() : std::string(reply->str, reply->len);
}

std::string RawRedis::info(const std::string& section, const std::string& field) {
  const std::string all = "\r\n" + text({"INFO", section});
  const std::string before = "\r\n" + field + ":";
  const std::size_t at = all.find(before);
  if (at == std::string::npos) return {};
  const std::size_t from = at + before.size();
  return all.substr(from, all.find('\r', from) - from);
}

std::uint64_t RawRedis::calls(const std::string& command) {
  // calls=123,usec=...
  const std::string figures = info("commandstats", "cmdstat_" + command);
  const std::size_t digits = figures.find('=') + 1;
  return figures.empty() ? 0 : std::stoull(figures.substr(digits));
}

void RawRedis::load(std::string_view script) { ask({"SCRIPT", "LOAD", std::string(script)}); }

int RawRedis::socket() const noexcept { return context_->fd; }

}  // namespace mortise::bench
