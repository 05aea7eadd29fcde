// SPDX-License-Identifier: MIT
// The life of a session. Its messages are in session_messages.cpp, its transactions in
// session_transaction.cpp, what statements use in session_rows.cpp.
#include "simulation/postgres/session.hpp"

#include <utility>

namespace simulation::postgres {

Session::Session(Database& database, ConnectionId connection, int pid)
    : Process(database.scheduler), db(database), connection_(connection), pid_(pid) {
  settings_.of(Setting::synchronous_commit) = db.options.synchronous_commit;
  settings_.of(Setting::default_isolation) = db.options.default_transaction_isolation;
  db.sessions.emplace(id(), this);
}

Session::Session(Database& database, int pid, Outlet outlet)
    : Process(database.scheduler),
      db(database),
      connection_(0),
      outlet_(std::move(outlet)),
      pid_(pid) {
  db.sessions.emplace(id(), this);
}

Session::~Session() { db.sessions.erase(id()); }

void Session::start() {
  life_ = live();
  if (life_.start()) stopped();
}

void Session::stopped() {
  if (!life_.done()) return;
  ended_ = true;
  db.somebody_ended = true;
  life_.rethrow();
}

void Session::received(std::string_view bytes) {
  in_.append(bytes);
  if (!in_statement_) scheduler().wake(*this, Wake::come);
}

void Session::left() {
  client_left_ = true;
  if (!in_statement_) scheduler().wake(*this, Wake::come);
}

void Session::cancel() {
  if (!in_statement_) return;  // nothing to cancel
  cancel_ = true;
  if (interruptible()) scheduler().wake(*this, Wake::interrupt);
}

void Session::terminate() {
  terminate_ = true;
  if (!in_statement_ || interruptible()) scheduler().wake(*this, Wake::interrupt);
}

Task<void> Session::live() {
  const bool welcome = co_await greet_client();
  while (welcome && !ended_) {
    const bool more = co_await await_message();
    if (!more) break;
    const Message message = *in_.next(false);
    if (message.kind == 'X') break;
    // What comes meanwhile moves the bytes.
    std::string body(message.body);
    std::optional<SqlError> failure;
    in_statement_ = true;
    try {
      co_await serve(message.kind, std::move(body));
    } catch (const SqlError& error) {
      failure = error;
    }
    in_statement_ = false;
    if (failure) fail(*failure);
    // The first answer that nobody takes is noticed at the second one, or at the end of what came.
    if (client_left_ && message.kind == 'S' && db.site.random() % 2 == 0) break;
  }
  end();
}

/// Until its first message has come, and was answered. @return whether it may stay
Task<bool> Session::greet_client() {
  constexpr std::int32_t encrypted = 80'877'103;
  constexpr std::int32_t encrypted_by_gss = 80'877'104;
  constexpr std::int32_t cancel_request = 80'877'102;
  for (;;) {
    while (!in_.whole(true)) {
      if (client_left_ || terminate_) co_return false;
      co_await sleep(true);
    }
    MessageReader reader(in_.next(true)->body);
    const std::int32_t code = reader.int32();
    if (code == encrypted || code == encrypted_by_gss) {
      send("N");
      continue;
    }
    if (code == cancel_request) {
      const std::int32_t pid = reader.int32();
      const auto key = static_cast<std::uint32_t>(reader.int32());
      for (const auto& [id, other] : db.sessions) {
        if (other->pid() == pid && static_cast<std::uint32_t>(other->cancel_key()) == key) {
          other->cancel();
        }
      }
      co_return false;
    }
    std::string database;
    for (;;) {
      const std::string_view name = reader.text();
      if (name.empty()) break;
      const std::string_view value = reader.text();
      if (name == "user") user_ = value;
      if (name == "database") database = value;
    }
    std::optional<SqlError> refused;
    if (db.refuses_logins && !outlet_) {
      refused.emplace("28000", "role \"" + user_ + "\" is not permitted to log in", true);
    }
    if (static_cast<int>(db.sessions.size()) > db.options.max_connections) {
      refused.emplace("53300", "sorry, too many clients already", true);
    } else if (!db.options.database.empty() && database != db.options.database) {
      refused.emplace("3D000", "database \"" + database + "\" does not exist", true);
    }
    if (refused) {
      say('E', "FATAL", *refused);
      flush();
      co_return false;
    }
    break;
  }
  greeted_ = true;
  MessageWriter(out_, 'R').int32(0);
  const auto tell = [&](std::string_view name, std::string_view value) {
    MessageWriter(out_, 'S').text(name).text(value);
  };
  tell("server_version", "15.18");
  tell("client_encoding", "UTF8");
  tell("integer_datetimes", "on");
  tell("in_hot_standby", db.in_recovery ? "on" : "off");
  MessageWriter(out_, 'K').int32(pid_).int32(static_cast<std::int32_t>(cancel_key()));
  ready_for_query();
  co_return true;
}

Task<bool> Session::await_message() {
  for (;;) {
    if (terminate_) {
      fail(SqlError("57P01", "terminating connection due to administrator command", true));
      co_return false;
    }
    if (in_.whole(false)) co_return true;
    if (client_left_) co_return false;
    co_await sleep(true);
  }
}

void Session::hear(const std::string& channel, const std::string& payload, int from) {
  if (!channels_.contains(channel)) return;
  std::string message;
  MessageWriter(message, 'A').int32(from).text(channel).text(payload);
  heard_.push_back(std::move(message));
  if (in_statement_ || tx_.open) return;  // after that
  tell_heard();
  flush();
}

void Session::tell_heard() {
  for (const std::string& message : heard_) out_ += message;
  heard_.clear();
}

void Session::flush() {
  if (out_.empty()) return;
  const std::string bytes = std::exchange(out_, {});
  if (!client_left_) send(bytes);
}

void Session::send(std::string_view bytes) {
  if (outlet_) {
    outlet_(bytes);
  } else {
    db.site.send(connection_, bytes);
  }
}

void Session::hang_up() {
  if (!client_left_ && !outlet_) db.site.hang_up(connection_);
  client_left_ = true;
}

void Session::say(char kind, const char* severity, const SqlError& what) {
  MessageWriter writer(out_, kind);
  const auto field = [&](char name, std::string_view text) { writer.byte(name).text(text); };
  field('S', severity);
  field('V', severity);
  field('C', what.state());
  field('M', what.what());
  // The only warning here; who listens knows it by its function.
  if (kind == 'N') field('R', "SyncRepWaitForLSN");
  writer.byte('\0');
}

void Session::fail(const SqlError& why) {
  if (why.fatal()) {
    say('E', "FATAL", why);
    ended_ = true;
    return;
  }
  say('E', "ERROR", why);
  // What failed since the last savepoint is undone at once, and so its locks are free.
  if (tx_.block) {
    roll_back_to(tx_.savepoints.empty() ? 0 : tx_.savepoints.back().undo);
    tx_.failed = true;
  } else {
    abort();
  }
  skips_ = true;
}

void Session::end() {
  abort();
  flush();
  hang_up();
}

}  // namespace simulation::postgres
