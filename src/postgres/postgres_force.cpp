// SPDX-License-Identifier: MIT
// What an administrator asks for: the end of a hold, whoever has it.
//
// A statement whose answer is lost is sent again, and by then the next one may have the lock; one
// that was given up may come late. So first it is asked who holds, and then that grant is ended and
// no other, however often that is said.
#include "core/figures.hpp"
#include "postgres/postgres_backend.hpp"

#include <utility>

namespace mortise::postgres {

void PostgresBackend::force_release(const std::shared_ptr<ForcedRelease>& operation) {
  if (!open(*operation)) return;
  begin(Call::Kind::force, operation, usual_patience);
}

void PostgresBackend::answered_force(const Call& call, const Result& result) {
  std::optional<std::optional<Holder>> answer = holder_of(result);
  if (!answer) return nonsense(call);
  Inspection& operation = call.inspection();
  if (call.found) {
    // By this copy, by one before it, or by its owner: that hold is over. Nobody may have told
    // those who wait; first, since a program may end as soon as it is answered.
    ring(Mode::exclusive, operation.name());
    return operation.answered(*call.found);
  }
  const bool its = *answer && static_cast<ForcedRelease&>(operation).means((*answer)->token);
  if (!its) return operation.answered(std::nullopt);
  const Instant now = clock_->now();
  submit({.kind = Call::Kind::force,
          .operation = call.operation,
          .found = std::make_shared<const Holder>(**std::move(answer)),
          .asked = now,
          .since = call.since,
          .patience = usual_patience});
}

}  // namespace mortise::postgres
