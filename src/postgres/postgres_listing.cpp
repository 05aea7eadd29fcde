// SPDX-License-Identifier: MIT
// What administrators ask: parts of PostgresBackend. Lists are plain reads, which lock no row, by
// the rights that an application has; and what they tell is read as what a stranger may have put
// there.
#include "core/figures.hpp"
#include "postgres/postgres_backend.hpp"
#include "postgres/server_error.hpp"

#include <algorithm>
#include <utility>

namespace mortise::postgres {
namespace {

// Of names that may not be held: about a millisecond of the server's time.
constexpr std::int64_t most_rows = 2'000;
constexpr char last_byte = '\xff';

/// @return a name that lies behind all that begin so
std::string behind_all(std::string prefix) {
  while (prefix.ends_with(last_byte)) prefix.pop_back();
  // NOLINTNEXTLINE(modernize-return-braced-init-list): that would be two characters
  if (prefix.empty()) return std::string(core::longest_name + 1, last_byte);
  prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

/// @return the first name that may be on the page
std::string first_of(const Listing& listing) {
  if (listing.cursor().empty()) return listing.prefix();
  return std::max(listing.prefix(), listing.cursor() + '\0');
}

std::optional<std::vector<std::string>> names_in(std::string_view bytes) {
  constexpr std::size_t length = sizeof(std::int32_t);
  std::vector<std::string> names;
  while (!bytes.empty()) {
    const auto size = static_cast<std::size_t>(integer_of(bytes.substr(0, length)));
    if (bytes.size() < length || size > bytes.size() - length || names.size() == longest_page) {
      return std::nullopt;
    }
    if (size >= 1 && size <= core::longest_name) names.emplace_back(bytes.substr(length, size));
    bytes.remove_prefix(length + size);
  }
  return names;
}

std::chrono::milliseconds milliseconds(std::int64_t microseconds) {
  return std::chrono::milliseconds(microseconds / 1000);
}

/// What bytes of the server tell, one after the other. Behind the end: zeros, and it is no good.
class Words {
 public:
  explicit Words(std::string_view bytes) : left_(bytes) {}
  [[nodiscard]] bool any() const noexcept { return !left_.empty(); }
  [[nodiscard]] bool good() const noexcept { return good_; }

  std::string_view bytes(std::size_t length) {
    if (length > left_.size()) {
      good_ = false;
      length = left_.size();
    }
    const std::string_view taken = left_.substr(0, length);
    left_.remove_prefix(length);
    return taken;
  }
  std::int64_t number(std::size_t length = sizeof(std::int64_t)) {
    const std::string_view digits = bytes(length);
    return good_ ? integer_of(digits) : 0;
  }
  Mode mode() {
    const std::string_view letter = bytes(1);
    if (letter == "S") return Mode::shared;
    good_ = good_ && letter == "E";
    return Mode::exclusive;
  }

 private:
  std::string_view left_;
  bool good_ = true;
};

HolderEntry holder_entry(Words& words, std::int64_t clock) {
  HolderEntry entry;
  const std::int64_t number = words.number();
  entry.token = token_of(number);
  entry.expires_in =
      std::chrono::duration_cast<std::chrono::milliseconds>(lease_between(clock, words.number()));
  const std::int64_t age = words.number();
  if (age >= 0) entry.age = milliseconds(age);
  entry.mode = words.mode();
  const std::int64_t length = words.number(sizeof(std::int32_t));
  entry.label = words.bytes(static_cast<std::size_t>(length)).substr(0, core::longest_label);
  return entry;
}

WaiterEntry waiter_entry(Words& words) {
  WaiterEntry entry;
  entry.mode = words.mode();
  entry.silent_for = milliseconds(std::max<std::int64_t>(words.number(), 0));
  return entry;
}

}  // namespace

std::optional<NameQueue> queue_of(const Result& result, std::size_t most, bool keeps_queues) {
  const std::optional<std::int64_t> clock = result.integer(1);
  const std::optional<std::int64_t> waiters = result.integer(2);
  if (result.columns() != 4 || !clock || !waiters) return std::nullopt;
  NameQueue queue;
  Words holders(result.text(0).value_or(""));
  while (holders.any()) {
    if (queue.holders.size() == most) return std::nullopt;
    queue.holders.push_back(holder_entry(holders, *clock));
  }
  Words waits(result.text(3).value_or(""));
  while (waits.any()) {
    if (queue.waiters.size() == most) return std::nullopt;
    queue.waiters.push_back(waiter_entry(waits));
  }
  if (!holders.good() || !waits.good()) return std::nullopt;
  // Who waits without a ticket is not counted.
  if (keeps_queues || *waiters > 0) queue.waiters_in_all = static_cast<std::size_t>(*waiters);
  return queue;
}

Arguments Statements::list(const Listing& listing) {
  Arguments arguments;
  const auto limit = static_cast<std::int64_t>(listing.limit());
  arguments.bytes(first_of(listing))
      .bytes(behind_all(listing.prefix()))
      .integer(limit)
      .integer(most_rows);
  return arguments;
}

Arguments Statements::queue(std::string_view name, std::size_t limit) {
  Arguments arguments;
  arguments.bytes(name).integer(static_cast<std::int64_t>(limit));
  return arguments;
}

void PostgresBackend::check(const std::shared_ptr<Check>& operation) {
  if (!open(*operation)) return;
  begin(Call::Kind::check, operation);
}

void PostgresBackend::answered_check(const Call& call, const Result& result) {
  const auto ask = [&](Call::Text text) {
    Call next = call;
    next.text = text;
    next.asked = clock_->now();
    submit(std::move(next));
  };
  if (call.text == Call::Text::write) {
    // All checks write one row, and another check has it now. The commit of that check proves the
    // same. Otherwise each of many checks at once would wait for all the others.
    if (result.text(1) == "L") return ask(Call::Text::written);
    return static_cast<Check&>(*call.operation).answered();
  }
  if (call.text == Call::Text::written) {
    const std::int64_t number = result.rows() > 0 ? result.integer(0).value_or(0) : 0;
    if (call.first_seen >= 0 && number > call.first_seen) {
      return static_cast<Check&>(*call.operation).answered();
    }
    Call next = call;
    next.text = Call::Text::write;
    if (next.first_seen < 0) next.first_seen = number;
    return again_soon(next);
  }
  const std::optional<std::string_view> missing = result.text(0);
  if (!missing) return nonsense(call);
  // A full disk, or a standby that does not confirm, shows only when something is written.
  if (missing->empty()) return ask(Call::Text::write);
  call.operation->failed({Errc::denied, where_ + ": the role lacks " + one_line(*missing) +
                                            "; run 'mortise migrate' with --role, or "
                                            "application.sql"});
}

void PostgresBackend::list(const std::shared_ptr<Listing>& operation) {
  if (!open(*operation)) return;
  if (operation->cursor().size() > core::longest_name) {
    operation->failed({Errc::misconfigured,
                       where_ + ": the cursor is invalid; pass the cursor of the previous page"});
    return;
  }
  begin(Call::Kind::list, operation);
}

void PostgresBackend::queue(const std::shared_ptr<QueueLook>& operation) {
  if (!open(*operation)) return;
  begin(Call::Kind::queue, operation);
}

Arguments PostgresBackend::prepare_listing(Call& call) {
  if (call.kind == Call::Kind::list) {
    const auto& listing = static_cast<const Listing&>(*call.operation);
    call.text = Call::Text::list;
    call.space = space_of(listing.mode());
    return Statements::list(listing);
  }
  const auto& look = static_cast<const QueueLook&>(*call.operation);
  call.text = Call::Text::queue;
  call.space = space_of(look.mode());
  return Statements::queue(look.name(), look.limit());
}

void PostgresBackend::answered_list(const Call& call, const Result& result) {
  auto names = result.columns() == 2 ? names_in(result.text(0).value_or("")) : std::nullopt;
  if (!names) return nonsense(call);
  NamePage page{.names = *std::move(names)};
  page.cursor = result.text(1).value_or("");
  static_cast<Listing&>(*call.operation).answered(std::move(page));
}

void PostgresBackend::answered_queue(const Call& call, const Result& result) {
  auto& look = static_cast<QueueLook&>(*call.operation);
  std::optional<NameQueue> queue = queue_of(result, look.limit(), settings_.fair);
  if (!queue) return nonsense(call);
  look.answered(*std::move(queue));
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

void PostgresBackend::answered_force(const Call& call, const Result& result) {
  const HoldId& hold = call.release().hold();
  // The copy that ended the hold may have woken no waiter. Before the answer, because the program
  // may end as soon as it has it.
  ring(space_of(hold.mode), hold.name);
  const Released if_over = call.executed ? Released::unknown : Released::was_lost;
  call.release().answered(result.rows() > 0 ? Released::released : if_over);
}

}  // namespace mortise::postgres
