// SPDX-License-Identifier: MIT
// What administrators ask: parts of RedisBackend. A page of names is one look at a part of the
// database, and a queue one script; both may be asked again.
#include "redis/listing.hpp"
#include "redis/redis_backend.hpp"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

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
    operation->failed(
        {Errc::misconfigured,
         describe() + ": the cursor is invalid; pass the cursor of the previous page"});
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

void RedisBackend::answered_list(Server& server, const Call& call, const Reply& reply) {
  auto& listing = static_cast<Listing&>(*call.operation);
  std::optional<ListCursor> list = parse_list(settings_.prefix, listing.mode(), reply);
  if (!list) return nonsense(server, call);
  NamePage page = list->take(listing.limit(), listing.prefix());
  if (cluster_) return answered_page(server, call, std::move(page));
  listing.answered(std::move(page));
}

void RedisBackend::answered_queue(Server& server, const Call& call, const Reply& reply) {
  auto& look = static_cast<QueueLook&>(*call.operation);
  std::vector<HoldMark> marks;
  std::optional<NameQueue> queue = parse_queue(reply, &marks);
  if (!queue) return nonsense(server, call);
  look.answered(*std::move(queue), std::move(marks));
}

// An earlier copy of the request may have ended the hold.
void RedisBackend::answered_force(const Call& call, bool ended) {
  const Released if_over = call.copies ? Released::unknown : Released::was_lost;
  call.releasing().answered(ended ? Released::released : if_over);
}

}  // namespace mortise::redis
