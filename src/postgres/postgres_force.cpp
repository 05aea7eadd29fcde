// SPDX-License-Identifier: MIT
// What an administrator asks for: the end of a hold, whoever has it.
//
// A statement whose answer is lost is sent again, and by then the next one may have the lock; one
// that was given up may come late. So first it is asked who holds, and then those grants are ended
// and no others, however often that is said.
#include "core/figures.hpp"
#include "postgres/postgres_backend.hpp"

#include <algorithm>
#include <utility>

namespace mortise::postgres {
namespace {

// That are told of, and may be ended by one request.
constexpr std::size_t most_holders = 100'000;

/// @return the number of the last grant
std::int64_t last_of(const std::vector<Holder>& found) {
  std::uint64_t last = 0;
  for (const Holder& each : found) {
    last = std::max(last, each.token.value() / core::tokens_in_a_grant);
  }
  return static_cast<std::int64_t>(last);
}

}  // namespace

Arguments Statements::force_release(const ForcedRelease& asked, std::int64_t last) {
  Arguments arguments;
  arguments.bytes(asked.name());
  for (const Mode mode : {Mode::exclusive, Mode::permit, Mode::once}) {
    const std::int64_t its = mode == asked.mode() ? last : 0;
    arguments.integer(asked.of() ? -its : its);
  }
  return arguments;
}

void PostgresBackend::force_release(const std::shared_ptr<ForcedRelease>& operation) {
  if (!open(*operation)) return;
  begin(Call::Kind::force, operation, usual_patience);
}

Arguments PostgresBackend::prepare_force(Call& call) {
  const auto& asked = static_cast<const ForcedRelease&>(*call.operation);
  call.text =
      call.found ? Call::Text::force_release : Call::text_of(Call::Text::queue, asked.mode());
  return call.found ? Statements::force_release(asked, last_of(*call.found))
                    : Statements::queue(asked.name(), most_holders);
}

void PostgresBackend::answered_force(const Call& call, const Result& result) {
  auto& asked = static_cast<ForcedRelease&>(*call.operation);
  if (call.found) {
    // By this copy, by one before it, or by its owner: those holds are over. Nobody may have told
    // those who wait; first, since a program may end as soon as it is answered.
    ring(asked.mode(), asked.name());
    return asked.answered(call.found->front());
  }
  // Its caller was told that it may have been done, and somebody else may have the lock since.
  if (asked.done()) return;
  std::optional<NameQueue> queue = queue_of(result, most_holders, settings_.fair);
  if (!queue) return nonsense(call);
  std::vector<Holder> found;
  for (HolderEntry& each : queue->holders) {
    if (!each.token || !asked.means(each.token)) continue;
    found.push_back({.label = std::move(each.label),
                     .token = each.token,
                     .expires_in = each.expires_in,
                     .waiters = queue->waiters_in_all,
                     .mode = each.mode});
  }
  if (found.empty()) return asked.answered(std::nullopt);
  const Instant now = clock_->now();
  submit({.kind = Call::Kind::force,
          .operation = call.operation,
          .found = std::make_shared<const std::vector<Holder>>(std::move(found)),
          .asked = now,
          .since = call.since,
          .patience = usual_patience});
}

}  // namespace mortise::postgres
