// SPDX-License-Identifier: MIT
// The messages of a session: protocol 3.0, "Extended Query" and "Simple Query".
#include "simulation/postgres/session.hpp"

#include <utility>

namespace simulation::postgres {

Task<void> Session::serve(char kind, std::string body) {
  if (kind == 'S') {
    skips_ = false;
    co_await sync();
    co_return;
  }
  if (skips_ && kind != 'Q') co_return;
  switch (kind) {
    case 'P': parse(body); break;
    case 'B': bind(body); break;
    case 'D':
      if (portal_) portal_->described = true;
      break;
    case 'E': co_await execute(); break;
    case 'Q': co_await simple(std::move(body)); break;
    case 'C': MessageWriter(out_, '3'); break;
    case 'H': flush(); break;
    default: throw SqlError("08P01", "invalid frontend message type", true);
  }
}

void Session::parse(std::string_view body) {
  MessageReader reader(body);
  const std::string name(reader.text());
  Parsed statement = db.texts.recognise(reader.text());
  if (statement.statement == Statement::unknown) {
    db.site.note("postgres: the model does not know the statement: " + statement.text);
    throw SqlError("42601", "the model does not know the statement: " + statement.text);
  }
  begin_if_none();
  if (!name.empty() && prepared_.contains(name)) {
    throw SqlError("42P05", "prepared statement \"" + name + "\" already exists");
  }
  prepared_.insert_or_assign(name, std::move(statement));
  MessageWriter(out_, '1');
}

void Session::bind(std::string_view body) {
  MessageReader reader(body);
  reader.text();  // the portal: there is only the one without a name
  const std::string_view name = reader.text();
  const auto found = prepared_.find(name);
  if (found == prepared_.end()) {
    throw SqlError("26000", "prepared statement \"" + std::string(name) + "\" does not exist");
  }
  begin_if_none();
  Portal& portal = portal_.emplace(Portal{});
  portal.statement = found->second;
  std::vector<bool> formats;
  for (std::int16_t left = reader.int16(); left > 0; --left) formats.push_back(reader.int16() != 0);
  const std::int16_t count = reader.int16();
  for (std::int16_t i = 0; i < count; ++i) {
    const auto place = static_cast<std::size_t>(i);
    Argument& argument = portal.arguments.emplace_back();
    argument.binary =
        formats.size() == 1 ? formats.front() : place < formats.size() && formats[place];
    const std::int32_t size = reader.int32();
    argument.null = size < 0;
    if (size > 0) argument.bytes = reader.bytes(static_cast<std::size_t>(size));
  }
  for (std::int16_t left = reader.int16(); left > 0; --left) {
    portal.formats.push_back(reader.int16() != 0);
  }
  if (!reader.good()) throw SqlError("08P01", "insufficient data left in message");
  MessageWriter(out_, '2');
}

Task<void> Session::execute() {
  if (!portal_) throw SqlError("34000", "portal \"\" does not exist");
  const Portal portal = std::move(*portal_);
  portal_.reset();
  const Rows rows = co_await run(portal.statement, portal.arguments);
  answer(rows, portal.formats, portal.described);
}

Task<void> Session::sync() {
  std::optional<SqlError> failure;
  if (!tx_.block) {
    try {
      co_await commit();
    } catch (const SqlError& error) {
      failure = error;
    }
  }
  if (failure) {
    fail(*failure);
    skips_ = false;
    if (ended_) co_return;
  }
  ready_for_query();
}

Task<void> Session::simple(std::string text) {
  skips_ = false;
  if (!text.empty() && text.back() == '\0') text.pop_back();
  const std::vector<Argument> no_arguments;
  std::optional<SqlError> failure;
  try {
    const std::vector<Parsed> statements = db.texts.recognise_all(text);
    if (statements.empty()) MessageWriter(out_, 'I');
    for (const Parsed& statement : statements) {
      if (statement.statement == Statement::unknown) {
        db.site.note("postgres: the model does not know the statement: " + statement.text);
        throw SqlError("42601", "the model does not know the statement: " + statement.text);
      }
      begin_if_none();
      const Rows rows = co_await run(statement, no_arguments);
      answer(rows, {false}, true);
    }
    if (!tx_.block) co_await commit();
  } catch (const SqlError& error) {
    failure = error;
  }
  if (failure) {
    fail(*failure);
    skips_ = false;
    if (ended_) co_return;
  }
  ready_for_query();
}

void Session::answer(const Rows& rows, const std::vector<bool>& formats, bool with_columns) {
  const auto binary = [&](std::size_t column) {
    return formats.size() == 1 ? formats.front() : column < formats.size() && formats[column];
  };
  if (with_columns && rows.selects) {
    MessageWriter writer(out_, 'T');
    writer.int16(static_cast<std::int16_t>(rows.columns.size()));
    for (std::size_t i = 0; i < rows.columns.size(); ++i) {
      writer.text("?column?").int32(0).int16(0);
      writer.int32(static_cast<std::int32_t>(rows.columns[i])).int16(-1).int32(-1);
      writer.int16(binary(i) ? 1 : 0);
    }
  } else if (with_columns) {
    MessageWriter(out_, 'n');
  }
  for (const std::vector<Value>& row : rows.rows) {
    MessageWriter writer(out_, 'D');
    writer.int16(static_cast<std::int16_t>(row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (row[i].null) {
        writer.int32(-1);
        continue;
      }
      const std::string bytes = row[i].encoded(binary(i));
      writer.int32(static_cast<std::int32_t>(bytes.size())).bytes(bytes);
    }
  }
  if (rows.tag.empty()) {
    MessageWriter(out_, 'I');
    return;
  }
  MessageWriter(out_, 'C').text(rows.selects ? "SELECT " + std::to_string(rows.rows.size())
                                             : rows.tag);
}

void Session::ready_for_query() {
  if (!tx_.open) tell_heard();
  MessageWriter(out_, 'Z').byte(!tx_.block ? 'I' : tx_.failed ? 'E' : 'T');
  flush();
}

}  // namespace simulation::postgres
