// SPDX-License-Identifier: MIT
#include "redis/store/redis_backend.hpp"

#include "base/farewell.hpp"
#include "base/mutant.hpp"
#include "redis/store/redis_client.hpp"
#include "redis/topology/renewal_parts.hpp"

#include <cstddef>
#include <utility>

namespace mortise::redis {

RedisBackend::RedisBackend(Settings settings)
    : settings_(std::move(settings)),
      tls_(settings_.tls ? std::make_unique<remote::Tls>(*settings_.tls, "redis") : nullptr) {}

RedisBackend::~RedisBackend() = default;

// The reasons are in docs/stores/redis.md.
StoreDescription RedisBackend::describe() const {
  const Support fair = settings_.queue_mode == QueueMode::fair ? Support::yes : Support::no;
  const Support alone = settings_.queue_mode == QueueMode::redisson ? Support::no : Support::yes;
  return {
      .name = words_of(settings_),
      .capabilities = {
          .leases = Support::yes,
          .fencing = Support::yes,
          .fair = fair,
          .push_wakeup = Support::yes,
          .one_wake = alone,
          // With persistence at each write; the server does not tell how its disk behaves.
          .survives_restart = Support::unknown,
          // Where that many replicas are all that may be promoted, which the server does not tell.
          .survives_failover = settings_.replicas > 0 ? Support::unknown : Support::no,
          // Redisson's RLock has no readers, and its read-write lock is another one.
          .shared_mode = alone,
          .permits = Support::yes,
          .min_hold = Support::yes}};
}

void RedisBackend::start(Host& host) {
  client_ = std::make_unique<RedisClient>(settings_, tls_.get(), host);
}

Parts& RedisBackend::parts() noexcept { return client_->parts; }

bool RedisBackend::open(Operation& operation) {
  return client_->polling.begin(operation, [this] { return words_of(settings_); });
}

void RedisBackend::acquire(const std::shared_ptr<Acquisition>& operation) {
  if (!open(*operation)) return;
  const Acquisition::Request& request = operation->request();
  if (request.mode == Mode::shared && parts().redisson != nullptr) {
    return operation->failed(
        {Errc::unsupported,
         words_of(settings_) + ": interop=redisson has no shared locks; use an exclusive lock"});
  }
  if (Failure bad = client_->requests.check_name(request.name);
      bad && request.mode == Mode::exclusive) {
    return operation->failed(std::move(bad));
  }
  client_->topology->will_ask(request);
  const bool together = client_->turns.any_places() && client_->topology->asks_together();
  together ? parts().ask_in_turn(operation) : client_->exchange.ask(operation);
}

void RedisBackend::cancel(const std::shared_ptr<Acquisition>& operation) {
  if (!open(*operation)) return;
  remote::cancel(client_->exchange, client_->attempts,
                 Call::of(remote::Purpose::cancel, operation));
}

void RedisBackend::renew(const std::shared_ptr<Renewal>& operation) {
  if (!open(*operation)) return;
  Exchange& exchange = client_->exchange;
  if (operation->items().size() == 1 || client_->topology->takes_several_names()) {
    return exchange.submit(Call::renew(operation));
  }
  for (auto& part : parts_of(operation)) exchange.submit(Call::renew(std::move(part)));
}

void RedisBackend::release(const std::shared_ptr<Release>& operation) {
  if (!open(*operation)) return;
  if (base::mutant("redis.forget_a_hold_before_its_release")) {
    client_->attempts.give_up_release(operation->hold());
  }
  // Who begins to listen for it while the release is on its way is a waiter of Redisson's to that.
  if (parts().redisson != nullptr) client_->attempts.leave(operation->hold());
  client_->exchange.submit(Call::of(remote::Purpose::release, operation));
}

void RedisBackend::inspect(const std::shared_ptr<Inspection>& operation) {
  if (open(*operation)) client_->exchange.submit(Call::made(Call::Kind::inspect, operation));
}

// A repeated request must not forget a later record. So it first looks, and then forgets the record
// that it found.
void RedisBackend::recall(const std::shared_ptr<Recollection>& operation) {
  if (!open(*operation)) return;
  client_->exchange.submit(Call::recall(operation, nullptr, parts().now()));
}

void RedisBackend::check(const std::shared_ptr<Check>& operation) {
  if (open(*operation)) client_->exchange.submit(Call::made(Call::Kind::check, operation));
}

void RedisBackend::list(const std::shared_ptr<Listing>& operation) {
  if (!open(*operation)) return;
  Call call = Call::made(Call::Kind::list, operation);
  call.since = parts().now();
  client_->topology->list(call);
}

void RedisBackend::queue(const std::shared_ptr<QueueLook>& operation) {
  if (!open(*operation)) return;
  if (Failure bad = client_->requests.check_name(operation->name())) {
    return operation->failed(std::move(bad));
  }
  client_->exchange.submit(Call::made(Call::Kind::queue, operation));
}

void RedisBackend::find(const std::shared_ptr<QueueLook>& operation) { queue(operation); }

void RedisBackend::end(const std::shared_ptr<Release>& operation) {
  if (open(*operation)) client_->exchange.submit(Call::made(Call::Kind::force, operation));
}

// What waits first, then everybody's operations.
void RedisBackend::stop() noexcept {
  if (!client_ || client_->polling.is_closed()) return;
  // Where there is no memory for that, what is left ends with its lease.
  base::without_memory([&] {
    if (parts().gate != nullptr) parts().gate->close();
  });
  base::without_memory([&] { client_->polling.give_back_the_rest(); });
  if (client_->polling.close()) end_all();
}

void RedisBackend::end_all() noexcept {
  remote::end_all(
      client_->exchange, client_->attempts, [this] { return words_of(settings_); },
      [this](auto end) {
        for (std::size_t i = 0; Server* const server = client_->topology->nth(i); ++i) {
          end(server->end());
        }
      });
}

}  // namespace mortise::redis
