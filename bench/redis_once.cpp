// SPDX-License-Identifier: MIT
// `Once` on Redis. Each figure has a server of its own, fresh and empty.
#include "once.hpp"
#include "raw_redis.hpp"
#include "redis_server.hpp"

#include <hiredis/hiredis.h>

#include <stdexcept>
#include <string>

namespace mortise::bench {
namespace {

constexpr int many = 2000;

double ours_of_run(Mode mode) {
  const RedisServer server(mode);
  return p50_of(many, first_run(server.url()));
}

double floor_of_run(Mode mode) {
  const RedisServer server(mode);
  RawRedis redis(server.port());
  return p50_of(many, locked_write(server.url(), [&](const std::string& name) {
                  redis.ask({"SET", "receipt:" + name, receipt(), "PX", "86400000"});
                }));
}

double ours_of_replay(Mode mode) {
  const RedisServer server(mode);
  return p50_of(many, replay(server.url()));
}

double floor_of_replay(Mode mode) {
  const RedisServer server(mode);
  RawRedis redis(server.port());
  redis.ask({"HSET", "receipt", "result", receipt()});
  RawCommand read{"HGET", "receipt", "result"};
  return p50_of(many, [&] {
    if (redis.ask(read)->len != receipt().size()) throw std::runtime_error("another receipt");
  });
}

}  // namespace

void add_redis_once(Cases& cases) {
  using enum Mode;
  add_once(cases, {same, crossed}, "redis", why_not_once("redis://127.0.0.1:1"),
           {.ours = ours_of_run, .floor = floor_of_run, .goal = goal_of_first_run},
           {.ours = ours_of_replay, .floor = floor_of_replay, .goal = goal_of_replay});
}

}  // namespace mortise::bench
