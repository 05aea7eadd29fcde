// SPDX-License-Identifier: MIT
// How calls become statements: texts by schema and role, arguments as bytes, the bits of `how`.
#include "postgres/statements.hpp"

#include "core/figures.hpp"
#include "postgres/listing.hpp"
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

// `how` of take.sql.
constexpr std::int64_t waiting_bit = 1;
constexpr std::int64_t fair_bit = 2;
constexpr std::int64_t own_session_bit = 8;

// In front of the label of a reader, and of a permit: see share_tables.sql.
std::string marked_label(const Acquisition::Request& request) {
  if (request.mode == Mode::exclusive) return request.label;
  std::string label(1, '\1');
  if (request.mode == Mode::permit) {
    const std::uint64_t permits = request.permits;
    for (int shift = 56; shift >= 0; shift -= 8) label += static_cast<char>(permits >> shift);
  }
  return label + request.label;
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
  return std::move(
      Arguments().bytes_array(names).bytes_array(attempts).integer_array(numbers).integer_array(
          leases));
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
  const auto call = [&](const std::string& what) { return "SELECT " + schema + "." + what; };
  // With the clock from before it has looked at anything.
  const auto timed = [&](const std::string& what) {
    return "SELECT pg_catalog.statement_timestamp(), " + schema + "." + what;
  };
  const Acquisition::Request nothing;
  const std::string taking = "($1, $2, $3, $4, $5, $6, $7)";
  constexpr Mode locks = Mode::exclusive;
  constexpr Mode keys = Mode::once;
  constexpr Mode semaphores = Mode::permit;
  all_.resize((static_cast<std::size_t>(Call::Text::written) + 1) * spaces);

  const auto add_take = [&](Call::Text text, Mode space, const char* name, std::string words,
                            Arguments like) {
    add(text, space,
        {.name = name,
         .text = std::move(words),
         .like = std::move(like),
         .later = space != locks,
         .tells_time = true,
         .takes = true});
  };
  add_take(Call::Text::look, locks, "mortise_look", fill_in(sql::look, schema),
           take(nothing, false, false));
  add_take(Call::Text::take, locks, "mortise_take", timed("take" + taking),
           take(nothing, false, false));
  add_take(Call::Text::take, semaphores, "mortise_take_permit", timed("take_gate" + taking),
           take(nothing, false, false));
  add_take(Call::Text::take, keys, "mortise_take_key", fill_in(sql::ask_key, schema),
           take_key(nothing, false));
  const auto add_cancel = [&](Mode space, const char* name, const char* words, Arguments like) {
    add(Call::Text::cancel, space,
        {.name = name,
         .text = timed(words),
         .like = std::move(like),
         .later = space != locks,
         .tells_time = true});
  };
  add_cancel(locks, "mortise_cancel", "cancel($1, $2, $3)", cancel(nothing, false));
  add_cancel(keys, "mortise_cancel_key", "cancel_key($1, $2, $3, $4)",
             cancel_key(nothing, false, 0));
  add_cancel(semaphores, "mortise_cancel_permit", "cancel_gate($1, $2, $3)",
             cancel(nothing, false));
  const auto add_plain = [&](Call::Text text, Mode space, const char* name, std::string words,
                             Arguments like) {
    add(text, space,
        {.name = name, .text = std::move(words), .like = std::move(like), .later = space != locks});
  };
  add_plain(Call::Text::release, locks, "mortise_release", call("release($1, $2, $3, $4)"),
            release({}, false));
  add_plain(Call::Text::release, keys, "mortise_release_key", call("release_key($1, $2, $3, $4)"),
            release_key({}, false));
  add_plain(Call::Text::release, semaphores, "mortise_release_permit",
            call("release_gate($1, $2, $3, $4)"), release({}, false));
  add_plain(Call::Text::conclude, keys, "mortise_conclude",
            call("conclude_key($1, $2, ($3)[1], ($3)[2] = 1, ($3)[3] = 1, $4, ($3)[4])"),
            conclude({}, {.memory = std::make_shared<const Memory>()}));
  add_plain(Call::Text::look_key, keys, "mortise_look_key", fill_in(sql::look_key, schema),
            inspect({}));
  add_plain(Call::Text::forget_key, keys, "mortise_forget_key", call("forget_key($1, $2)"),
            forget({}, 0));
  add_plain(Call::Text::renew, locks, "mortise_renew", fill_in(sql::renew_all, schema), renew({}));
  add_plain(Call::Text::wake, locks, "mortise_wake",
            call("wake($1), CASE WHEN pg_catalog.cardinality($2) > 0 THEN ") + schema +
                ".wake_run($2) END, CASE WHEN pg_catalog.cardinality($3) > 0 THEN " + schema +
                ".wake_gate($3) END",
            wake({}, {}, {}));
  add_plain(Call::Text::inspect, locks, "mortise_inspect", fill_in(sql::inspect, schema),
            inspect({}));

  // Those that are seldom sent go with their text.
  add_plain(Call::Text::force_release, locks, "",
            "SELECT * FROM " + schema + ".force_release($1, $2, $3, $4)", force_release({}));
  add_plain(Call::Text::list, locks, "", fill_in(sql::list, schema), list({{}, {}, 1}));
  add_plain(Call::Text::list, keys, "", fill_in(sql::list_run, schema), list({{}, {}, 1}));
  add_plain(Call::Text::list, semaphores, "", fill_in(sql::list_gate, schema), list({{}, {}, 1}));
  add_plain(Call::Text::queue, locks, "", fill_in(sql::queue, schema), queue({}, 1));
  add_plain(Call::Text::queue, keys, "", fill_in(sql::queue_run, schema), queue({}, 1));
  add_plain(Call::Text::queue, semaphores, "", fill_in(sql::queue_gate, schema), queue({}, 1));
  add_plain(Call::Text::census, locks, "", sql::census, census({}));
  add_plain(Call::Text::check, locks, "", fill_in(sql::check, schema), {});
  add_plain(Call::Text::write, locks, "", timed("take" + taking), write());
  add_plain(Call::Text::written, locks, "", fill_in(sql::inspect, schema), inspect({}));
}

std::string Statements::listen(const AttemptId& of_client) const {
  // The first of a queue is told alone; where there is none, whoever waits.
  constexpr std::size_t digits_of_client = 32;
  return "LISTEN " + (fair_ ? "mortise_" + of_client.text().substr(0, digits_of_client) : schema_);
}

Arguments Statements::take(const Acquisition::Request& request, bool waits, bool pooled) const {
  const std::int64_t lease = microseconds(request.lease);
  const AttemptBytes beside = attempt_bytes(request.beside.value_or(AttemptId{}));
  Arguments arguments;
  arguments.bytes(request.name)
      .bytes(attempt_bytes(request.attempt).view())
      .integer(request.mode == Mode::exclusive ? lease : -lease)
      .bytes(marked_label(request))
      .integer((waits ? waiting_bit : 0) | (fair_ ? fair_bit : 0) | (pooled ? 0 : own_session_bit))
      .bytes(request.beside ? beside.view() : std::string_view())
      .moment({});
  return arguments;
}

Arguments Statements::write() {
  Arguments arguments;
  arguments.bytes({})
      .bytes(attempt_bytes(AttemptId{}).view())
      .integer(1)
      .bytes({})
      .integer(0)
      .bytes({})
      .moment(remote::ServerTime::max());
  return arguments;
}

Arguments Statements::take_key(const Acquisition::Request& request, bool waits) const {
  // A lock's request has none; of a key's it is never null.
  const Memory none;
  const Memory& memory = request.memory ? *request.memory : none;
  Arguments arguments;
  arguments.bytes(request.name)
      .bytes(attempt_bytes(request.attempt).view())
      .integer_array({microseconds(request.lease),
                      (waits ? waiting_bit : 0) | (fair_ ? fair_bit : 0),
                      static_cast<std::int64_t>(memory.repeat), microseconds(memory.keep)})
      .bytes_array({request.label, memory.fingerprint})
      .moment({});
  return arguments;
}

Arguments Statements::conclude(const HoldId& hold, const Conclusion& conclusion) {
  const bool confirms = conclusion.written && conclusion.written->state == conclusion.state;
  Arguments arguments;
  arguments.bytes(hold.name)
      .bytes(attempt_bytes(hold.attempt).view())
      .integer_array({static_cast<std::int64_t>(hold.number), confirms ? 1 : 0,
                      conclusion.state == KeyState::succeeded ? 1 : 0,
                      microseconds(conclusion.memory->keep)})
      .bytes(confirms ? conclusion.written->bytes : conclusion.bytes);
  return arguments;
}

Arguments Statements::cancel(const Acquisition::Request& request, bool in_doubt) {
  return std::move(
      Arguments().bytes(request.name).bytes(attempt_bytes(request.attempt).view()).flag(in_doubt));
}

Arguments Statements::cancel_key(const Acquisition::Request& request, bool in_doubt,
                                 std::int64_t known) {
  Arguments arguments = cancel(request, in_doubt);
  arguments.integer(known);
  return arguments;
}

Arguments Statements::release(const HoldId& hold, bool pooled) {
  Arguments arguments;
  arguments.bytes(hold.name)
      .bytes(attempt_bytes(hold.attempt).view())
      .integer(static_cast<std::int64_t>(hold.number))
      .integer(pooled ? 0 : own_session_bit);
  return arguments;
}

Arguments Statements::release_key(const HoldId& hold, bool undoes) {
  Arguments arguments;
  arguments.bytes(hold.name)
      .bytes(attempt_bytes(hold.attempt).view())
      .integer(static_cast<std::int64_t>(hold.number))
      .flag(undoes);
  return arguments;
}

Arguments Statements::renew(const std::vector<Renewal::Item>& items) {
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

Arguments Statements::inspect(std::string_view name) { return std::move(Arguments().bytes(name)); }

Arguments Statements::forget(std::string_view key, std::int64_t what) {
  return std::move(Arguments().bytes(key).integer(what));
}

Arguments Statements::list(const Listing& listing) {
  // Of names that may not be held: about a millisecond of the server's time.
  constexpr std::int64_t most_rows = 2'000;
  Arguments arguments;
  arguments.bytes(first_name_of(listing))
      .bytes(name_behind(listing))
      .integer(static_cast<std::int64_t>(listing.limit()))
      .integer(most_rows);
  return arguments;
}

Arguments Statements::queue(std::string_view name, std::size_t limit) {
  return std::move(Arguments().bytes(name).integer(static_cast<std::int64_t>(limit)));
}

Arguments Statements::force_release(const HoldId& hold) {
  Arguments arguments;
  arguments.bytes(hold.name);
  for (const Mode mode : {Mode::exclusive, Mode::permit, Mode::once}) {
    const bool its = mode == space_of(hold.mode);
    arguments.integer(its ? static_cast<std::int64_t>(hold.number) : 0);
  }
  return arguments;
}

Arguments Statements::wake(const std::vector<std::string>& names,
                           const std::vector<std::string>& keys,
                           const std::vector<std::string>& semaphores) {
  return std::move(Arguments().bytes_array(names).bytes_array(keys).bytes_array(semaphores));
}

Arguments Statements::census(const std::vector<std::int64_t>& processes) {
  return std::move(Arguments().integer_array(processes));
}

}  // namespace mortise::postgres
