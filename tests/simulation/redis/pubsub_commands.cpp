// SPDX-License-Identifier: MIT
// Messages: pubsub.c, without patterns and shards.
#include "simulation/redis/command.hpp"
#include "simulation/redis/commands.hpp"

#include <string>
#include <vector>

namespace simulation::redis {
namespace {

void confirm(Invocation& call, std::string_view what, std::string_view channel) {
  call.reply.array(3);
  call.reply.bulk(what);
  call.reply.bulk(channel);
  const auto& mine = call.server.subscriptions.of(call.session.connection);
  call.reply.integer(static_cast<std::int64_t>(mine.size()));
}

void leave(Invocation& call, std::string_view channel) {
  call.server.subscriptions.remove(call.session.connection, channel);
  confirm(call, "unsubscribe", channel);
}

}  // namespace

void subscribe(Invocation& call) {
  for (const std::string_view channel : call.words.subspan(1)) {
    call.server.subscriptions.add(call.session.connection, channel);
    confirm(call, "subscribe", channel);
  }
  call.session.listens = true;
}

void unsubscribe(Invocation& call) {
  Subscriptions& all = call.server.subscriptions;
  const std::vector<std::string> mine = all.of(call.session.connection);
  if (call.words.size() > 1) {
    for (const std::string_view channel : call.words.subspan(1)) leave(call, channel);
  } else if (mine.empty()) {
    call.reply.array(3);
    call.reply.bulk("unsubscribe");
    call.reply.nil();
    call.reply.integer(0);
  } else {
    for (const std::string& channel : mine) leave(call, channel);
  }
  call.session.listens = !all.of(call.session.connection).empty();
}

void publish(Invocation& call) {
  const std::size_t readers = call.server.publish(call.word(1), call.word(2));
  call.reply.integer(static_cast<std::int64_t>(readers));
}

void pubsub_numsub(Invocation& call) {
  call.reply.array((call.words.size() - 2) * 2);
  for (const std::string_view channel : call.words.subspan(2)) {
    call.reply.bulk(channel);
    const std::size_t size = call.server.subscriptions.listeners(channel).size();
    call.reply.integer(static_cast<std::int64_t>(size));
  }
}

}  // namespace simulation::redis
