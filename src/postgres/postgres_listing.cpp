// SPDX-License-Identifier: MIT
// What administrators ask: parts of PostgresBackend. Lists are plain reads, which lock no row, by
// the rights that an application has; and what they tell is read as what a stranger may have put
// there.
#include "core/figures.hpp"
#include "postgres/postgres_backend.hpp"

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

}  // namespace

Arguments Statements::list(const Listing& listing) {
  Arguments arguments;
  const auto limit = static_cast<std::int64_t>(listing.limit());
  arguments.bytes(first_of(listing))
      .bytes(behind_all(listing.prefix()))
      .integer(limit)
      .integer(most_rows);
  return arguments;
}

Arguments Statements::queue(const QueueLook& look) {
  Arguments arguments;
  arguments.bytes(look.name()).integer(static_cast<std::int64_t>(look.limit()));
  return arguments;
}

void PostgresBackend::check(const std::shared_ptr<Check>& operation) {
  if (!open(*operation)) return;
  begin(Call::Kind::check, operation, usual_patience);
}

void PostgresBackend::list(const std::shared_ptr<Listing>& operation) {
  if (!open(*operation)) return;
  if (operation->cursor().size() > core::longest_name) {
    operation->failed({Errc::misconfigured, where_ + ": the cursor is not one of its own"});
    return;
  }
  begin(Call::Kind::list, operation, usual_patience);
}

void PostgresBackend::queue(const std::shared_ptr<QueueLook>& operation) {
  if (!open(*operation)) return;
  begin(Call::Kind::queue, operation, usual_patience);
}

Arguments PostgresBackend::prepare_listing(Call& call) {
  if (call.kind == Call::Kind::list) {
    call.text = Call::Text::list;
    return Statements::list(static_cast<const Listing&>(*call.operation));
  }
  call.text = Call::Text::queue;
  return Statements::queue(static_cast<const QueueLook&>(*call.operation));
}

void PostgresBackend::answered_list(const Call& call, const Result& result) {
  auto names = result.columns() == 2 ? names_in(result.text(0).value_or("")) : std::nullopt;
  if (!names) return nonsense(call);
  NamePage page{.names = *std::move(names)};
  page.cursor = result.text(1).value_or("");
  static_cast<Listing&>(*call.operation).answered(std::move(page));
}

void PostgresBackend::answered_queue(const Call& call, const Result& result) {
  constexpr std::size_t each = sizeof(std::int64_t);
  auto& look = static_cast<QueueLook&>(*call.operation);
  const std::optional<std::optional<Holder>> holder = holder_of(result);
  std::string_view silent = result.text(5).value_or("");
  if (!holder || silent.size() % each != 0 || silent.size() > longest_page * each) {
    return nonsense(call);
  }
  NameQueue queue;
  if (*holder) {
    HolderEntry entry{
        .label = (*holder)->label, .token = (*holder)->token, .expires_in = (*holder)->expires_in};
    const std::int64_t age = result.integer(6).value_or(-1);
    if (age >= 0) entry.age = milliseconds(age);
    queue.holders.push_back(std::move(entry));
  }
  // Who waits without a ticket is not counted.
  const std::int64_t waiters = result.integer(4).value_or(0);
  if (settings_.fair || waiters > 0) queue.waiters_in_all = static_cast<std::size_t>(waiters);
  for (; !silent.empty(); silent.remove_prefix(each)) {
    const std::int64_t time = std::max<std::int64_t>(integer_of(silent.substr(0, each)), 0);
    queue.waiters.push_back({.silent_for = milliseconds(time)});
  }
  look.answered(std::move(queue));
}

}  // namespace mortise::postgres
