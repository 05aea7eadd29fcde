// SPDX-License-Identifier: MIT
// What a connection says of itself: networking.c, and AUTH.
#include "simulation/redis/command.hpp"
#include "simulation/redis/commands.hpp"
#include "simulation/redis/numbers.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace simulation::redis {
namespace {

constexpr std::string_view wrong_password =
    "WRONGPASS invalid username-password pair or user is disabled.";

bool log_in(Invocation& call, std::string_view user, std::string_view password) {
  const std::string& right = call.server.options.password;
  if (user != "default" || (!right.empty() && password != right)) {
    call.reply.error(wrong_password);
    return false;
  }
  call.session.logged_in = true;
  return true;
}

bool set_name(Invocation& call, std::string_view name) {
  const bool fine =
      std::all_of(name.begin(), name.end(), [](char c) { return c >= '!' && c <= '~'; });
  if (!fine) {
    call.reply.error("ERR Client names cannot contain spaces, newlines or special characters.");
    return false;
  }
  call.session.name = name;
  return true;
}

/// @return false = it has answered what is wrong
bool read_hello(Invocation& call) {
  if (call.words.size() > 1) {
    const auto version = parse_integer(call.word(1));
    if (!version) {
      call.reply.error("ERR Protocol version is not an integer or out of range");
      return false;
    }
    if (*version != 2) {  // the model speaks RESP2 only, as servers before 6.0
      call.reply.error("NOPROTO unsupported protocol version");
      return false;
    }
  }
  for (std::size_t i = 2; i < call.words.size(); ++i) {
    if (is_word(call.word(i), "auth") && i + 2 < call.words.size()) {
      if (!log_in(call, call.word(i + 1), call.word(i + 2))) return false;
      i += 2;
    } else if (is_word(call.word(i), "setname") && i + 1 < call.words.size()) {
      if (!set_name(call, call.word(i + 1))) return false;
      ++i;
    } else {
      call.reply.error("ERR Syntax error in HELLO option '" + std::string(c_text(call.word(i))) +
                       "'");
      return false;
    }
  }
  return true;
}

}  // namespace

void ping(Invocation& call) {
  if (call.words.size() > 2) {
    return call.reply.error("ERR wrong number of arguments for 'ping' command");
  }
  if (call.session.listens) {
    call.reply.array(2);
    call.reply.bulk("pong");
    call.reply.bulk(call.words.size() == 2 ? call.word(1) : std::string_view());
  } else if (call.words.size() == 2) {
    call.reply.bulk(call.word(1));
  } else {
    call.reply.status("PONG");
  }
}

void echo(Invocation& call) { call.reply.bulk(call.word(1)); }

void auth(Invocation& call) {
  if (call.words.size() > 3) return call.reply.error(syntax_error);
  if (call.words.size() == 2 && call.server.options.password.empty()) {
    return call.reply.error(
        "ERR AUTH <password> called without any password configured for the default user. Are you "
        "sure your configuration is correct?");
  }
  const bool named = call.words.size() == 3;
  if (log_in(call, named ? call.word(1) : "default", call.word(named ? 2 : 1))) {
    call.reply.status("OK");
  }
}

void hello(Invocation& call) {
  if (!read_hello(call)) return;
  if (!call.session.logged_in) {
    return call.reply.error(
        "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO "
        "AUTH <user> <pass> option can be used to authenticate the client and select the RESP "
        "protocol version at the same time");
  }
  const ServerState& server = call.server;
  const auto words = [&call](std::string_view key, std::string_view value) {
    call.reply.bulk(key);
    call.reply.bulk(value);
  };
  call.reply.array(14);
  words("server", "redis");
  words("version", server.options.version);
  call.reply.bulk("proto");
  call.reply.integer(2);
  call.reply.bulk("id");
  call.reply.integer(call.session.id);
  words("mode", server.options.cluster ? "cluster" : "standalone");
  words("role", server.faults.replica ? "replica" : "master");
  call.reply.bulk("modules");
  call.reply.array(0);
}

void select(Invocation& call) {
  const auto number = parse_integer(call.word(1));
  if (!number) return call.reply.error(not_an_integer);
  if (*number < std::numeric_limits<int>::min() || *number > std::numeric_limits<int>::max()) {
    return call.reply.error(
        "ERR value is out of range, value must between -2147483648 and 2147483647");
  }
  if (*number < 0 || *number >= static_cast<std::int64_t>(ServerState::database_count)) {
    return call.reply.error("ERR DB index is out of range");
  }
  call.session.database = static_cast<std::size_t>(*number);
  call.reply.status("OK");
}

void quit(Invocation& call) {
  call.reply.status("OK");
  call.session.leaves = true;
}

void reset(Invocation& call) {
  call.server.subscriptions.remove_all(call.session.connection);
  call.server.shards.remove_all(call.session.connection);
  call.session.listens = false;
  call.session.database = 0;
  call.session.name.clear();
  call.session.logged_in = call.server.options.password.empty();
  call.reply.status("RESET");
}

void client_setname(Invocation& call) {
  if (set_name(call, call.word(2))) call.reply.status("OK");
}

void client_getname(Invocation& call) {
  if (call.session.name.empty()) {
    call.reply.nil();
  } else {
    call.reply.bulk(call.session.name);
  }
}

void client_id(Invocation& call) { call.reply.integer(call.session.id); }

}  // namespace simulation::redis
