// SPDX-License-Identifier: MIT
// How calls become statements: texts by schema and role, arguments as bytes, the bits of `how`.
#include "postgres/statements.hpp"

#include "core/figures.hpp"
#include "postgres/sql.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

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

// `how` of take.sql, and of ask.sql.
constexpr std::int64_t waiting_bit = 1;
constexpr std::int64_t wakes_bit = 1;  // of cancel.sql and release.sql
constexpr std::int64_t fair_bit = 2;
constexpr std::int64_t over_bit = 2;  // of release.sql
constexpr std::int64_t older_copies_bit = 4;
constexpr std::int64_t own_session_bit = 8;
constexpr std::int64_t confirms_bit = 8;  // of conclude_key()
constexpr std::int64_t lowest_way_bit = 16;

std::int64_t how(const Copies& copies) {
  return copies.number * lowest_way_bit + (copies.older ? older_copies_bit : 0);
}

/// In the order of renew_all.sql.
std::size_t kind_of(const Renewal::Item& item) {
  switch (item.hold.mode) {
    case Mode::exclusive: return 0;
    case Mode::once: return 1;
    case Mode::shared: return 2;
    case Mode::permit: return 3;
  }
  return 0;
}

Arguments renewal_of(const std::vector<Renewal::Item>& items,
                     const std::vector<std::size_t>& places) {
  std::vector<std::string> names;
  std::vector<std::string> attempts;
  std::vector<std::int64_t> numbers;
  std::vector<std::int64_t> leases;
  for (const std::size_t place : places) {
    const Renewal::Item& item = items[place];
    names.push_back(item.hold.name);
    attempts.emplace_back(attempt_bytes(item.hold.attempt).view());
    numbers.push_back(static_cast<std::int64_t>(item.hold.number));
    leases.push_back(microseconds(item.lease));
  }
  Arguments arguments;
  arguments.bytes_array(names).bytes_array(attempts).integer_array(numbers).integer_array(leases);
  return arguments;
}

}  // namespace

std::string fill_in(std::string_view text, std::string_view schema, std::string_view role) {
  std::string filled(text);
  replace_all(filled, "@schema@", schema);
  replace_all(filled, "@role@", role);
  return filled;
}

std::string at_home(std::string_view call, std::string_view schema, std::size_t first) {
  std::string text(sql::at_home);
  replace_all(text, "@call@", call);
  replace_all(text, "@cluster@", "$" + std::to_string(first));
  replace_all(text, "@database@", "$" + std::to_string(first + 1));
  return fill_in(text, schema);
}

AttemptBytes attempt_bytes(const AttemptId& attempt) noexcept {
  AttemptBytes out;
  std::size_t at = 0;
  for (const std::uint64_t part : {attempt.client_high, attempt.client_low, attempt.sequence}) {
    for (int shift = 56; shift >= 0; shift -= 8) out.bytes[at++] = static_cast<char>(part >> shift);
  }
  return out;
}

Statements::Statements(const std::string& schema, bool fair)
    : fair_(fair),
      schema_(schema),
      greet_(fill_in(sql::greet, schema)),
      session_(fill_in(sql::session, schema)) {
  const auto call = [&](const char* what) { return "SELECT " + schema + "." + what; };
  const Acquisition::Request nothing;
  const Acquisition::Request permit{.mode = Mode::permit};
  all_ = {
      {"mortise_ask", fill_in(sql::ask, schema), acquire(nothing, false, {}, false)},
      {"mortise_look", fill_in(sql::look, schema), acquire(nothing, false, {}, false)},
      {"mortise_peek", fill_in(sql::peek, schema), acquire(nothing, false, {}, false)},
      {"mortise_take", call("take($1, $2, $3, $4, $5)"), acquire(nothing, false, {}, false)},
      {"mortise_cancel", call("cancel($1, $2, $3)"), cancel(nothing, {})},
      {"mortise_renew", call("renew($1, $2, $3, $4)"), renew({})},
      {"mortise_release", call("release($1, $2, $3, $4)"), release({}, {}, false)},
      {"mortise_release_apart", call("release_apart($1, $2, $3, $4)"), release({}, {}, false)},
      {"mortise_inspect", fill_in(sql::inspect, schema), inspect({})},
      {"", "SELECT * FROM " + schema + ".force_release($1, $2, $3, $4)", force_release({})},
      {"", sql::census, census({})},
      {"mortise_wake", call("wake($1)"), wake({})},
      {"mortise_ask_key", fill_in(sql::ask_key, schema), ask_key(nothing, false, {}), true},
      {"mortise_cancel_key", call("cancel_key($1, $2, $3)"), cancel(nothing, {}), true},
      {"mortise_release_key", call("release_apart_run($1, $2, $3, $4)"), release({}, {}, false),
       true},
      {"mortise_conclude_key",
       call("conclude_key($1, $2, ($3)[1], ($3)[2], ($3)[3] = 1, $4, ($3)[4])"),
       conclude({}, {.memory = std::make_shared<const Memory>()}, {}), true},
      {"mortise_renew_all", fill_in(sql::renew_all, schema), renew_all({}), true},
      {"mortise_look_key", fill_in(sql::look_key, schema), inspect({}), true},
      {"mortise_forget_key", call("forget_key($1, $2)"), forget({}, 0), true},
      {"mortise_wake_all",
       call("wake($1), ") + schema + ".wake_run($2), " + schema + ".wake_gate($3)",
       wake_all({}, {}, {}), true},
      {"mortise_share", call("share($1, $2, $3, $4, $5, $6, 0)"), share(nothing, false, {}, false),
       true},
      {"mortise_ask_share", fill_in(sql::ask_share, schema), share(nothing, false, {}, false),
       true},
      {"mortise_ask_permit", fill_in(sql::ask_permit, schema), share(permit, false, {}, false),
       true},
      {"mortise_cancel_permit", call("cancel_gate($1, $2, $3)"), cancel(nothing, {}), true},
      {"mortise_release_permit", call("release_gate($1, $2, $3, $4)"), release({}, {}, false),
       true},
      {"mortise_release_permit_apart", call("release_apart_gate($1, $2, $3, $4)"),
       release({}, {}, false), true},
      {"", fill_in(sql::list, schema), list({{}, {}, 1})},
      {"", fill_in(sql::list_run, schema), list({{}, {}, 1})},
      {"", fill_in(sql::list_gate, schema), list({{}, {}, 1})},
      {"", fill_in(sql::queue, schema), queue({}, 1)},
      {"", fill_in(sql::queue_run, schema), queue({}, 1)},
      {"", fill_in(sql::queue_gate, schema), queue({}, 1)},
      {"", fill_in(sql::check, schema), {}},
      {"", call("take_apart($1, $2, $3, $4, $5)"), write()},
      {"", fill_in(sql::inspect, schema), inspect({})},
  };
}

std::string Statements::listen(const AttemptId& of_client) const {
  // The first of a queue is told alone; where there is none, whoever waits.
  constexpr std::size_t digits_of_client = 32;
  return "LISTEN " + (fair_ ? "mortise_" + of_client.text().substr(0, digits_of_client) : schema_);
}

Arguments Statements::acquire(const Acquisition::Request& request, bool waits, const Copies& copies,
                              bool pooled) const {
  Arguments arguments;
  arguments.bytes(request.name)
      .bytes(attempt_bytes(request.attempt).view())
      .integer(microseconds(request.lease))
      .bytes(request.label)
      .integer(how(copies) | (waits ? waiting_bit : 0) | (fair_ ? fair_bit : 0) |
               (pooled ? 0 : own_session_bit));
  return arguments;
}

Arguments Statements::write() {
  Arguments arguments;
  arguments.bytes({}).bytes(attempt_bytes(AttemptId{}).view()).integer(1).bytes({}).integer(0);
  return arguments;
}

Arguments Statements::share(const Acquisition::Request& request, bool waits, const Copies& copies,
                            bool pooled) const {
  const AttemptBytes beside = attempt_bytes(request.beside.value_or(AttemptId{}));
  Arguments arguments;
  arguments.bytes(request.name)
      .bytes(attempt_bytes(request.attempt).view())
      .integer(microseconds(request.lease))
      .bytes(request.label)
      .integer(how(copies) | (waits ? waiting_bit : 0) | (fair_ ? fair_bit : 0) |
               (pooled ? 0 : own_session_bit))
      .bytes(request.beside ? beside.view() : std::string_view());
  if (request.mode == Mode::permit) arguments.integer(request.permits);
  return arguments;
}

Arguments Statements::ask_key(const Acquisition::Request& request, bool waits,
                              const Copies& copies) const {
  // A lock's request has none; of a key's it is never null.
  const Memory none;
  const Memory& memory = request.memory ? *request.memory : none;
  Arguments arguments;
  arguments.bytes(request.name)
      .bytes(attempt_bytes(request.attempt).view())
      .integer_array({microseconds(request.lease),
                      how(copies) | (waits ? waiting_bit : 0) | (fair_ ? fair_bit : 0),
                      static_cast<std::int64_t>(memory.repeat), microseconds(memory.keep)})
      .bytes_array({request.label, memory.fingerprint});
  return arguments;
}

Arguments Statements::conclude(const HoldId& hold, const Conclusion& conclusion,
                               const Copies& copies) {
  const bool confirms = conclusion.written && conclusion.written->state == conclusion.state;
  Arguments arguments;
  arguments.bytes(hold.name)
      .bytes(attempt_bytes(hold.attempt).view())
      .integer_array({static_cast<std::int64_t>(hold.number),
                      how(copies) | wakes_bit | over_bit | (confirms ? confirms_bit : 0),
                      conclusion.state == KeyState::succeeded ? 1 : 0,
                      microseconds(conclusion.memory->keep)})
      .bytes(confirms ? conclusion.written->bytes : conclusion.bytes);
  return arguments;
}

Arguments Statements::cancel(const Acquisition::Request& request, const Copies& copies) {
  Arguments arguments;
  arguments.bytes(request.name)
      .bytes(attempt_bytes(request.attempt).view())
      .integer(how(copies) | wakes_bit);
  return arguments;
}

Arguments Statements::release(const HoldId& hold, const Copies& copies, bool grant_only) {
  Arguments arguments;
  arguments.bytes(hold.name)
      .bytes(attempt_bytes(hold.attempt).view())
      .integer(static_cast<std::int64_t>(hold.number))
      .integer(how(copies) | wakes_bit | (grant_only ? 0 : over_bit));
  return arguments;
}

Arguments Statements::renew(const std::vector<Renewal::Item>& items) {
  return renewal_of(items, owners_first(items));
}

bool Statements::only_owners(const std::vector<Renewal::Item>& items) {
  return std::all_of(items.begin(), items.end(),
                     [](const Renewal::Item& item) { return kind_of(item) == 0; });
}

Arguments Statements::renew_all(const std::vector<Renewal::Item>& items) {
  // Where each kind ends; the last one with the list.
  std::vector<std::int64_t> ends;
  for (std::size_t kind = 0; kind < 3; ++kind) {
    ends.push_back(std::count_if(items.begin(), items.end(),
                                 [&](const Renewal::Item& item) { return kind_of(item) <= kind; }));
  }
  Arguments arguments = renewal_of(items, owners_first(items));
  arguments.integer_array(ends);
  return arguments;
}

std::vector<std::size_t> Statements::owners_first(const std::vector<Renewal::Item>& items) {
  std::vector<std::size_t> places(items.size());
  std::iota(places.begin(), places.end(), 0U);
  // Not stable_sort(), whose buffer in GCC's library is deprecated, as newer Clangs say.
  std::sort(places.begin(), places.end(), [&](std::size_t one, std::size_t other) {
    return std::pair(kind_of(items[one]), one) < std::pair(kind_of(items[other]), other);
  });
  return places;
}

Arguments Statements::inspect(std::string_view name) {
  Arguments arguments;
  arguments.bytes(name);
  return arguments;
}

Arguments Statements::forget(std::string_view key, std::int64_t what) {
  Arguments arguments;
  arguments.bytes(key).integer(what);
  return arguments;
}

Arguments Statements::wake(const std::vector<std::string>& names) {
  Arguments arguments;
  arguments.bytes_array(names);
  return arguments;
}

Arguments Statements::wake_all(const std::vector<std::string>& names,
                               const std::vector<std::string>& keys,
                               const std::vector<std::string>& semaphores) {
  Arguments arguments;
  arguments.bytes_array(names).bytes_array(keys).bytes_array(semaphores);
  return arguments;
}

Arguments Statements::census(const std::vector<std::int64_t>& processes) {
  Arguments arguments;
  arguments.integer_array(processes);
  return arguments;
}

}  // namespace mortise::postgres
