// SPDX-License-Identifier: MIT
// The doors of the memory backend: the server that tests hold, the backend, the URL.
#include <mortise/memory.hpp>

#include "base/url.hpp"
#include "memory/link.hpp"
#include "memory/named_stores.hpp"
#include "memory/store.hpp"

#include <memory>
#include <string>
#include <utility>

namespace mortise::memory {
namespace {

class MemoryBackend final : public Backend,
                            private Records,
                            private Inspector,
                            private Catalog,
                            private Enforcer {
 public:
  MemoryBackend(const std::shared_ptr<Store>& store, std::string name)
      : link_(std::make_shared<Link>(store, std::move(name))) {}
  ~MemoryBackend() override { link_->stop(); }

  [[nodiscard]] StoreDescription describe() const override {
    return {.name = link_->name(),
            .capabilities = {.leases = Support::yes,
                             .effective_lease = {},
                             .fencing = Support::yes,
                             .fair = Support::yes,
                             .push_wakeup = Support::yes,
                             .one_wake = Support::yes,
                             .survives_restart = Support::no,
                             .survives_failover = Support::no,
                             .shared_mode = Support::yes,
                             .permits = Support::yes,
                             .min_hold = Support::yes,
                             .safety_margin = {}}};
  }
  void start(Host& host) override { link_->start(host); }
  void stop() noexcept override { link_->stop(); }
  void acquire(const std::shared_ptr<Acquisition>& o) override { link_->acquire(o); }
  void cancel(const std::shared_ptr<Acquisition>& o) override { link_->cancel(o); }
  void renew(const std::shared_ptr<Renewal>& o) override { link_->renew(o); }
  void release(const std::shared_ptr<Release>& o) override { link_->release(o); }
  void check(const std::shared_ptr<Check>& o) override { link_->check(o); }
  [[nodiscard]] Records* records() noexcept override { return this; }
  [[nodiscard]] Inspector* inspector() noexcept override { return this; }
  [[nodiscard]] Catalog* catalog() noexcept override { return this; }
  [[nodiscard]] Enforcer* enforcer() noexcept override { return this; }

 private:
  void recall(const std::shared_ptr<Recollection>& o) override { link_->recall(o); }
  void inspect(const std::shared_ptr<Inspection>& o) override { link_->inspect(o); }
  void list(const std::shared_ptr<Listing>& o) override { link_->list(o); }
  void queue(const std::shared_ptr<QueueLook>& o) override { link_->queue(o); }
  void find(const std::shared_ptr<QueueLook>& o) override { link_->queue(o); }
  void end(const std::shared_ptr<Release>& o) override { link_->release(o); }

  std::shared_ptr<Link> link_;
};

/// Never destroyed, because a client may end with the program. Made when the library is loaded: a
/// thread that makes it on first use would keep a forked child out for ever.
NamedStores& named_stores() {
  static auto& stores = *new NamedStores;
  return stores;
}
[[maybe_unused]] const NamedStores& made_early = named_stores();

}  // namespace

Server::Server(std::shared_ptr<Clock> clock)
    : store_(std::make_shared<Store>(clock ? std::move(clock) : Clock::real())) {}
Server::~Server() = default;
void Server::set_faults(const Faults& faults) { store_->network().set_faults(faults); }
void Server::set_reachable(bool reachable) { store_->network().set_reachable(reachable); }
void Server::restart() { store_->restart(); }
void Server::drop(std::string_view name, Mode mode) { store_->drop(name, mode); }
std::uint64_t Server::requests() const { return store_->requests(); }
std::uint64_t Server::pushes() const { return store_->network().pushes(); }
std::size_t Server::waiters() const { return store_->waiters(); }

std::size_t Server::remembered() const { return store_->remembered(); }

std::optional<Holder> Server::holder(std::string_view name, Mode mode) const {
  return store_->holder(name, mode);
}

std::unique_ptr<Backend> Server::backend() {
  return std::make_unique<MemoryBackend>(store_, "memory server");
}

std::unique_ptr<Backend> backend(std::string_view text) {
  base::Url url(text);
  if (url.scheme() != "memory" || url.has_authority()) {
    base::refuse_url("URL: memory: takes no host; write memory: or memory:NAME");
  }
  url.refuse_the_rest();
  return std::make_unique<MemoryBackend>(named_stores().get(url.path()), "memory:" + url.path());
}

}  // namespace mortise::memory
