// SPDX-License-Identifier: MIT
// Messages: pubsub.c, without patterns.
#include "simulation/redis/command.hpp"
#include "simulation/redis/commands.hpp"

#include <string>
#include <vector>

namespace simulation::redis {
namespace {

struct Kind {
  std::string_view begins;
  std::string_view ends;
  Subscriptions ServerState::*listeners;
};
constexpr Kind plain{"subscribe", "unsubscribe", &ServerState::subscriptions};
constexpr Kind sharded{"ssubscribe", "sunsubscribe", &ServerState::shards};

void confirm(Invocation& call, const Kind& kind, bool begins, std::string_view channel) {
  call.reply.array(3);
  call.reply.bulk(begins ? kind.begins : kind.ends);
  call.reply.bulk(channel);
  const auto& mine = (call.server.*kind.listeners).of(call.session.connection);
  call.reply.integer(static_cast<std::int64_t>(mine.size()));
}

void begin(Invocation& call, const Kind& kind) {
  for (const std::string_view channel : call.words.subspan(1)) {
    (call.server.*kind.listeners).add(call.session.connection, channel);
    confirm(call, kind, true, channel);
  }
  call.session.listens = true;
}

void leave(Invocation& call, const Kind& kind, std::string_view channel) {
  (call.server.*kind.listeners).remove(call.session.connection, channel);
  confirm(call, kind, false, channel);
}

void end(Invocation& call, const Kind& kind) {
  const std::vector<std::string> mine = (call.server.*kind.listeners).of(call.session.connection);
  if (call.words.size() > 1) {
    for (const std::string_view channel : call.words.subspan(1)) leave(call, kind, channel);
  } else if (mine.empty()) {
    call.reply.array(3);
    call.reply.bulk(kind.ends);
    call.reply.nil();
    call.reply.integer(0);
  } else {
    for (const std::string& channel : mine) leave(call, kind, channel);
  }
  call.session.listens = call.server.listens(call.session.connection);
}

void count_listeners(Invocation& call, const Subscriptions& all) {
  call.reply.array((call.words.size() - 2) * 2);
  for (const std::string_view channel : call.words.subspan(2)) {
    call.reply.bulk(channel);
    call.reply.integer(static_cast<std::int64_t>(all.listeners(channel).size()));
  }
}

}  // namespace

void subscribe(Invocation& call) { begin(call, plain); }
void unsubscribe(Invocation& call) { end(call, plain); }
void ssubscribe(Invocation& call) { begin(call, sharded); }
void sunsubscribe(Invocation& call) { end(call, sharded); }

// It moves the stream that replicas acknowledge, also where nobody listens; in a cluster it goes to
// all servers by the bus instead.
void publish(Invocation& call) {
  ServerState& server = call.server;
  if (server.slots.is_part()) {
    server.slots.tell_the_others(call.word(1), call.word(2));
  } else {
    server.replication.note_message();
  }
  const std::size_t readers = server.publish(call.word(1), call.word(2));
  call.reply.integer(static_cast<std::int64_t>(readers));
}

void spublish(Invocation& call) {
  if (!call.server.slots.is_part()) call.server.replication.note_message();
  const std::size_t readers = call.server.publish_to_shard(call.word(1), call.word(2));
  call.reply.integer(static_cast<std::int64_t>(readers));
}

void pubsub_numsub(Invocation& call) { count_listeners(call, call.server.subscriptions); }
void pubsub_shardnumsub(Invocation& call) { count_listeners(call, call.server.shards); }

}  // namespace simulation::redis
