// SPDX-License-Identifier: MIT
#include "postgres/statements.hpp"

#include "postgres/sql.hpp"

#include <chrono>

namespace mortise::postgres {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

std::int64_t microseconds(std::chrono::nanoseconds span) {
  return std::chrono::duration_cast<std::chrono::microseconds>(span).count();
}

/// The bits of ask.sql, without those of one that waits.
std::int64_t how(const Copies& copies) { return copies.number * 8 + (copies.strays ? 4 : 0); }

// In the order of Call::Kind; `check` looks at a name that nobody locks.
constexpr std::size_t index_of(Call::Kind kind) {
  return kind == Call::Kind::check ? static_cast<std::size_t>(Call::Kind::inspect)
                                   : static_cast<std::size_t>(kind);
}

}  // namespace

std::string fill_in(std::string_view text, std::string_view schema, std::string_view role) {
  std::string filled(text);
  replace_all(filled, "@schema@", schema);
  replace_all(filled, "@role@", role);
  return filled;
}

std::string attempt_bytes(const AttemptId& attempt) {
  std::string bytes;
  bytes.reserve(24);
  for (const std::uint64_t part : {attempt.client_high, attempt.client_low, attempt.sequence}) {
    for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(part >> shift);
  }
  return bytes;
}

Statements::Statements(const std::string& schema, bool fair)
    : fair_(fair),
      schema_(schema),
      greet_(fill_in(sql::greet, schema)),
      session_(fill_in(sql::session, schema)) {
  const auto call = [&](const char* what) { return "SELECT " + schema + "." + what; };
  const Acquisition::Request nothing;
  all_ = {
      {"mortise_ask", fill_in(sql::ask, schema), acquire(nothing, false, {})},
      {"mortise_cancel", call("cancel($1, $2, $3)"), cancel(nothing, {})},
      {"mortise_renew", call("renew($1, $2, $3, $4)"), renew({})},
      {"mortise_release", call("release($1, $2, $3, $4)"), release({}, {})},
      {"mortise_inspect", fill_in(sql::inspect, schema), inspect({})},
  };
}

std::string Statements::listen(const AttemptId& of_client) const {
  // The first of a queue is told alone; where there is none, whoever waits.
  constexpr std::size_t digits_of_client = 32;
  return "LISTEN " + (fair_ ? "mortise_" + of_client.text().substr(0, digits_of_client) : schema_);
}

const Statement& Statements::of(Call::Kind kind) const noexcept { return all_[index_of(kind)]; }

Arguments Statements::acquire(const Acquisition::Request& request, bool waits,
                              const Copies& copies) const {
  Arguments arguments;
  arguments.bytes(request.name)
      .bytes(attempt_bytes(request.attempt))
      .integer(microseconds(request.lease))
      .bytes(request.label)
      .integer(how(copies) | (waits ? 1 : 0) | (fair_ ? 2 : 0));
  return arguments;
}

Arguments Statements::cancel(const Acquisition::Request& request, const Copies& copies) {
  Arguments arguments;
  arguments.bytes(request.name).bytes(attempt_bytes(request.attempt)).integer(how(copies));
  return arguments;
}

Arguments Statements::release(const HoldId& hold, const Copies& copies) {
  Arguments arguments;
  arguments.bytes(hold.name)
      .bytes(attempt_bytes(hold.attempt))
      .integer(static_cast<std::int64_t>(hold.number))
      .integer(how(copies));
  return arguments;
}

Arguments Statements::renew(const std::vector<Renewal::Item>& items) {
  std::vector<std::string> names;
  std::vector<std::string> attempts;
  std::vector<std::int64_t> numbers;
  std::vector<std::int64_t> leases;
  for (const Renewal::Item& item : items) {
    names.push_back(item.hold.name);
    attempts.push_back(attempt_bytes(item.hold.attempt));
    numbers.push_back(static_cast<std::int64_t>(item.hold.number));
    leases.push_back(microseconds(item.lease));
  }
  Arguments arguments;
  arguments.bytes_array(names).bytes_array(attempts).integer_array(numbers).integer_array(leases);
  return arguments;
}

Arguments Statements::inspect(std::string_view name) {
  Arguments arguments;
  arguments.bytes(name);
  return arguments;
}

}  // namespace mortise::postgres
