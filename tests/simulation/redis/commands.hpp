// SPDX-License-Identifier: MIT
// What carries the commands out, by the file that has it.
#pragma once

namespace simulation::redis {

struct Invocation;

// string_commands.cpp
void get(Invocation& call);
void set(Invocation& call);
void setnx(Invocation& call);
void psetex(Invocation& call);
void setex(Invocation& call);
void getdel(Invocation& call);
void strlen(Invocation& call);
void append(Invocation& call);
void incr(Invocation& call);
void decr(Invocation& call);
void incrby(Invocation& call);
void decrby(Invocation& call);

// hash_commands.cpp
void hset(Invocation& call);
void hsetnx(Invocation& call);
void hget(Invocation& call);
void hmget(Invocation& call);
void hdel(Invocation& call);
void hexists(Invocation& call);
void hlen(Invocation& call);
void hstrlen(Invocation& call);
void hgetall(Invocation& call);
void hkeys(Invocation& call);
void hvals(Invocation& call);
void hincrby(Invocation& call);

// collection_commands.cpp
void lpush(Invocation& call);
void rpush(Invocation& call);
void lpop(Invocation& call);
void rpop(Invocation& call);
void llen(Invocation& call);
void lrange(Invocation& call);
void sadd(Invocation& call);
void srem(Invocation& call);
void scard(Invocation& call);
void sismember(Invocation& call);

// sorted_set_commands.cpp
void zadd(Invocation& call);
void zrem(Invocation& call);
void zcard(Invocation& call);
void zscore(Invocation& call);
void zmscore(Invocation& call);
void zrank(Invocation& call);
void zcount(Invocation& call);
void zrange(Invocation& call);

// key_commands.cpp
void del(Invocation& call);
void exists(Invocation& call);
void type(Invocation& call);
void dbsize(Invocation& call);
void keys(Invocation& call);
void flushdb(Invocation& call);
void flushall(Invocation& call);

// expiry_commands.cpp
void expire(Invocation& call);
void pexpire(Invocation& call);
void expireat(Invocation& call);
void pexpireat(Invocation& call);
void ttl(Invocation& call);
void pttl(Invocation& call);
void expiretime(Invocation& call);
void pexpiretime(Invocation& call);
void persist(Invocation& call);

// script_commands.cpp
void eval(Invocation& call);
void evalsha(Invocation& call);
void script_load(Invocation& call);
void script_exists(Invocation& call);
void script_flush(Invocation& call);

// pubsub_commands.cpp
void subscribe(Invocation& call);
void unsubscribe(Invocation& call);
void publish(Invocation& call);
void pubsub_numsub(Invocation& call);
void ssubscribe(Invocation& call);
void sunsubscribe(Invocation& call);
void spublish(Invocation& call);
void pubsub_shardnumsub(Invocation& call);

// cluster_commands.cpp
void asking(Invocation& call);
void cluster_slots(Invocation& call);
void cluster_shards(Invocation& call);
void cluster_keyslot(Invocation& call);
void cluster_countkeysinslot(Invocation& call);
void cluster_myid(Invocation& call);
void cluster_setslot(Invocation& call);

// connection_commands.cpp
void ping(Invocation& call);
void echo(Invocation& call);
void auth(Invocation& call);
void hello(Invocation& call);
void select(Invocation& call);
void quit(Invocation& call);
void reset(Invocation& call);
void client_setname(Invocation& call);
void client_getname(Invocation& call);
void client_id(Invocation& call);

// server_commands.cpp
void info(Invocation& call);
void time(Invocation& call);
void role(Invocation& call);
void config_get(Invocation& call);
void wait(Invocation& call);

}  // namespace simulation::redis
