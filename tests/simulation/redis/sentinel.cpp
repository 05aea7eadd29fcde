// SPDX-License-Identifier: MIT
#include "simulation/redis/sentinel.hpp"

#include "simulation/redis/numbers.hpp"
#include "simulation/redis/resp_reply.hpp"

#include <utility>

namespace simulation::redis {
namespace {

constexpr std::string_view news = "+switch-master";

}  // namespace

void SentinelModel::learn(const std::string& host, std::uint16_t port, std::uint64_t epoch) {
  const bool another = !host_.empty() && (host != host_ || port != port_);
  const std::string words =
      master_ + " " + host_ + " " + std::to_string(port_) + " " + host + " " + std::to_string(port);
  host_ = host;
  port_ = port;
  epoch_ = epoch;
  if (!another) return;
  RespReply push;
  push.array(3);
  push.bulk("message");
  push.bulk(news);
  push.bulk(words);
  for (const ConnectionId listener : subscriptions_.listeners(news)) {
    site_.send(listener, push.bytes());
  }
}

void SentinelModel::closed(ConnectionId connection) {
  subscriptions_.remove_all(connection);
  parsers_.erase(connection);
}

void SentinelModel::restarted(bool /*keeps_data*/) {
  subscriptions_.clear();
  parsers_.clear();
}

void SentinelModel::received(ConnectionId connection, std::string_view bytes) {
  const auto found = parsers_.find(connection);
  if (found == parsers_.end()) return;
  RequestParser& parser = found->second;
  std::string answers;
  bool ends = false;
  parser.begin(bytes);
  for (;;) {
    const RequestParser::Found what = parser.next();
    if (what == RequestParser::Found::nothing) break;
    ends = what == RequestParser::Found::mistake;
    if (ends) {
      answers += "-" + parser.mistake() + "\r\n";
      break;
    }
    if (!parser.words().empty()) answers += answer(connection, parser.words());
  }
  parser.finish();
  if (!answers.empty()) site_.send(connection, answers);
  if (!ends) return;
  site_.hang_up(connection);
  closed(connection);
}

std::string SentinelModel::answer(ConnectionId connection, Words words) {
  if (is_word(words[0], "ping")) return "+PONG\r\n";
  if (is_word(words[0], "sentinel") && words.size() == 3) return about(words);
  if (is_word(words[0], "subscribe") && words.size() == 2) {
    subscriptions_.add(connection, words[1]);
    RespReply reply;
    reply.array(3);
    reply.bulk("subscribe");
    reply.bulk(words[1]);
    reply.integer(static_cast<std::int64_t>(subscriptions_.of(connection).size()));
    return std::string(reply.bytes());
  }
  return "-ERR unknown command '" + std::string(words[0]) + "', with args beginning with: \r\n";
}

std::string SentinelModel::about(Words words) const {
  const bool known = words[2] == master_ && !host_.empty();
  RespReply reply;
  if (is_word(words[1], "get-master-addr-by-name")) {
    if (!known) return "*-1\r\n";
    reply.array(2);
    reply.bulk(host_);
    reply.bulk(std::to_string(port_));
  } else if (is_word(words[1], "master")) {
    if (!known) return "-ERR No such master with that name\r\n";
    const auto pair = [&reply](std::string_view key, std::string_view value) {
      reply.bulk(key);
      reply.bulk(value);
    };
    reply.array(10);
    pair("name", master_);
    pair("ip", host_);
    pair("port", std::to_string(port_));
    pair("flags", "master");
    pair("config-epoch", std::to_string(epoch_));
  } else {
    return "-ERR Unknown sentinel subcommand\r\n";
  }
  return std::string(reply.bytes());
}

}  // namespace simulation::redis
