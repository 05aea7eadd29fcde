// SPDX-License-Identifier: MIT
// What administrators ask: parts of RedisBackend. A page of names is one look at a part of the
// database, and a queue one script; both may be asked again.
#include "redis/listing.hpp"
#include "redis/redis_backend.hpp"

#include <utility>

namespace mortise::redis {

void RedisBackend::list(const std::shared_ptr<Listing>& operation) {
  if (!open(*operation)) return;
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

void RedisBackend::answered_list(const Call& call, const std::string& text) {
  std::optional<ListCursor> list = parse_list(settings_.prefix, text);
  if (!list) return nonsense(call);
  auto& listing = static_cast<Listing&>(*call.operation);
  listing.answered(list->take(listing.limit(), listing.prefix()));
}

void RedisBackend::answered_queue(const Call& call, const std::string& text) {
  std::optional<NameQueue> queue = parse_queue(text);
  if (!queue) return nonsense(call);
  static_cast<QueueLook&>(*call.operation).answered(*std::move(queue));
}

}  // namespace mortise::redis
