// SPDX-License-Identifier: MIT
#include "redis.hpp"

#include <cstddef>
#include <stdexcept>

namespace shop {
namespace {

redisContext* connect(const std::string& where) {
  if (where.starts_with("/")) return ::redisConnectUnix(where.c_str());
  const std::size_t colon = where.rfind(':');
  if (colon == std::string::npos) throw std::runtime_error(where + " has no port");
  return ::redisConnect(where.substr(0, colon).c_str(), std::stoi(where.substr(colon + 1)));
}

void collect(const redisReply& reply, std::vector<std::string>& into) {
  if (reply.type == REDIS_REPLY_ERROR) throw std::runtime_error(reply.str);
  if (reply.type == REDIS_REPLY_INTEGER) into.push_back(std::to_string(reply.integer));
  if (reply.type == REDIS_REPLY_STRING) into.emplace_back(reply.str, reply.len);
  if (reply.type != REDIS_REPLY_ARRAY) return;
  for (std::size_t i = 0; i < reply.elements; ++i) collect(*reply.element[i], into);
}

}  // namespace

Redis::Redis(const std::string& where) : context_(connect(where), &::redisFree) {
  if (!context_ || context_->err != 0) throw std::runtime_error("cannot reach Redis at " + where);
}

std::vector<std::string> Redis::ask(const std::vector<std::string>& words) {
  std::vector<const char*> texts;
  std::vector<std::size_t> sizes;
  for (const std::string& word : words) {
    texts.push_back(word.data());
    sizes.push_back(word.size());
  }
  const std::unique_ptr<void, decltype(&::freeReplyObject)> reply(
      ::redisCommandArgv(context_.get(), static_cast<int>(words.size()), texts.data(),
                         sizes.data()),
      &::freeReplyObject);
  if (!reply) throw std::runtime_error(context_->errstr);
  std::vector<std::string> out;
  collect(*static_cast<const redisReply*>(reply.get()), out);
  return out;
}

}  // namespace shop
