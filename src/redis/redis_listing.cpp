// SPDX-License-Identifier: MIT
// What administrators ask: parts of RedisBackend. A page of names is one look at a part of the
// database, and a queue one script; both may be asked again.
#include "core/figures.hpp"
#include "redis/listing.hpp"
#include "redis/redis_backend.hpp"

#include <memory>
#include <optional>
#include <utility>

namespace mortise::redis {

void RedisBackend::list(const std::shared_ptr<Listing>& operation) {
  if (!open(*operation)) return;
  if (cluster_) {
    Call call = Call::list(operation);
    call.since = clock_->now();
    return list_cluster(call);
  }
  std::optional<ListCursor> cursor = ListCursor::parse(operation->cursor());
  if (!cursor) {
    operation->failed({Errc::misconfigured, describe() + ": the cursor is not one of its own"});
  } else if (!cursor->left.empty() || cursor->ended) {
    operation->answered(cursor->take(operation->limit(), operation->prefix()));
  } else {
    submit(Call::list(operation));
  }
}

void RedisBackend::queue(const std::shared_ptr<QueueLook>& operation) {
  if (!open(*operation)) return;
  if (Failure bad = requests_.check_name(operation->name())) {
    operation->failed(std::move(bad));
    return;
  }
  submit(Call::queue(operation));
}

void RedisBackend::answered_list(Server& server, const Call& call, const std::string& text) {
  std::optional<ListCursor> list = parse_list(settings_.prefix, text);
  if (!list) return nonsense(server, call);
  auto& listing = static_cast<Listing&>(*call.operation);
  NamePage page = list->take(listing.limit(), listing.prefix());
  if (cluster_) return answered_page(server, call, std::move(page));
  listing.answered(std::move(page));
}

void RedisBackend::answered_queue(Server& server, const Call& call, const std::string& text) {
  std::optional<NameQueue> queue = parse_queue(text);
  if (!queue) return nonsense(server, call);
  auto& look = static_cast<QueueLook&>(*call.operation);
  // Of the lock and of the semaphore together.
  if (queue->holders.size() > look.limit()) queue->holders.resize(look.limit());
  if (queue->waiters.size() > look.limit()) queue->waiters.resize(look.limit());
  look.answered(*std::move(queue));
}

// Whether this copy has ended that hold, an earlier one, or its owner: it is over.
void RedisBackend::answered_force(const Call& call, const Answer& answer) {
  const ForcedRelease& operation = *call.forced();
  if (call.found) return call.inspection()->answered(call.found->holder());
  // Its caller was told that it may have been done, and somebody else may have the lock since.
  if (operation.done()) return;
  const bool meant = answer.kind == Answer::Kind::held &&
                     operation.means(Token(answer.holder_number * core::tokens_in_a_grant));
  if (meant) {
    Answer found = answer;
    if (call.of_permits) found.holder_mode = Mode::permit;
    return submit(Call::force(call.forced(), std::make_shared<const Answer>(std::move(found)),
                              clock_->now()));
  }
  if (!operation.of() || call.of_permits) return call.inspection()->answered(std::nullopt);
  // A certain hold, and not of the lock: of the semaphore of that name, perhaps.
  Call next = Call::force(call.forced(), nullptr, clock_->now());
  next.of_permits = true;
  submit(std::move(next));
}

}  // namespace mortise::redis
