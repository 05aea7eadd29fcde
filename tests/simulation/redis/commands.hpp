// SPDX-License-Identifier: MIT
// What carries the commands out, by the file that has it.
#pragma once

namespace simulation::redis {

struct Call;

// string_commands.cpp
void get(Call& call);
void set(Call& call);
void setnx(Call& call);
void psetex(Call& call);
void setex(Call& call);
void getdel(Call& call);
void strlen(Call& call);
void append(Call& call);
void incr(Call& call);
void decr(Call& call);
void incrby(Call& call);
void decrby(Call& call);

// hash_commands.cpp
void hset(Call& call);
void hsetnx(Call& call);
void hget(Call& call);
void hmget(Call& call);
void hdel(Call& call);
void hexists(Call& call);
void hlen(Call& call);
void hstrlen(Call& call);
void hgetall(Call& call);
void hkeys(Call& call);
void hvals(Call& call);
void hincrby(Call& call);

// collection_commands.cpp
void lpush(Call& call);
void rpush(Call& call);
void lpop(Call& call);
void rpop(Call& call);
void llen(Call& call);
void lrange(Call& call);
void sadd(Call& call);
void srem(Call& call);
void scard(Call& call);
void sismember(Call& call);

// key_commands.cpp
void del(Call& call);
void exists(Call& call);
void type(Call& call);
void dbsize(Call& call);
void keys(Call& call);
void flushdb(Call& call);
void flushall(Call& call);

// expiry_commands.cpp
void expire(Call& call);
void pexpire(Call& call);
void expireat(Call& call);
void pexpireat(Call& call);
void ttl(Call& call);
void pttl(Call& call);
void expiretime(Call& call);
void pexpiretime(Call& call);
void persist(Call& call);

// script_commands.cpp
void eval(Call& call);
void evalsha(Call& call);
void script_load(Call& call);
void script_exists(Call& call);
void script_flush(Call& call);

// pubsub_commands.cpp
void subscribe(Call& call);
void unsubscribe(Call& call);
void publish(Call& call);
void pubsub_numsub(Call& call);

// connection_commands.cpp
void ping(Call& call);
void echo(Call& call);
void auth(Call& call);
void hello(Call& call);
void select(Call& call);
void quit(Call& call);
void reset(Call& call);
void client_setname(Call& call);
void client_getname(Call& call);
void client_id(Call& call);

// server_commands.cpp
void info(Call& call);
void time(Call& call);
void role(Call& call);
void config_get(Call& call);
void wait(Call& call);

}  // namespace simulation::redis
