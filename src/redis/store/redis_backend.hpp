// SPDX-License-Identifier: MIT
// The backend of Redis: what the library asks for, as calls of scripts.
#pragma once

#include <mortise/backend.hpp>

#include "redis/store/settings.hpp"
#include "remote/stream/tls.hpp"

#include <memory>
#include <string>

namespace mortise::redis {

struct RedisClient;
struct Parts;

/// A server is two connections: one for commands, shared by all threads of the client, and the
/// inbox, which is told of grants. While there is no inbox nobody joins a queue; while there is no
/// connection, requests wait here, and those that were not answered are sent once more: every
/// script may be repeated.
class RedisBackend final : public Backend,
                           public Records,
                           public Inspector,
                           public Catalog,
                           public Enforcer {
 public:
  /// @throws Error (`misconfigured`): a file of the TLS settings
  explicit RedisBackend(Settings settings);
  ~RedisBackend() override;

  [[nodiscard]] StoreDescription describe() const override;
  void start(Host& host) override;
  void stop() noexcept override;
  void acquire(const std::shared_ptr<Acquisition>& operation) override;
  void cancel(const std::shared_ptr<Acquisition>& operation) override;
  void renew(const std::shared_ptr<Renewal>& operation) override;
  void release(const std::shared_ptr<Release>& operation) override;
  void check(const std::shared_ptr<Check>& operation) override;
  [[nodiscard]] Records* records() noexcept override { return this; }
  [[nodiscard]] Inspector* inspector() noexcept override { return this; }
  [[nodiscard]] Catalog* catalog() noexcept override { return this; }
  [[nodiscard]] Enforcer* enforcer() noexcept override { return this; }
  void recall(const std::shared_ptr<Recollection>& operation) override;
  void inspect(const std::shared_ptr<Inspection>& operation) override;
  void list(const std::shared_ptr<Listing>& operation) override;
  void queue(const std::shared_ptr<QueueLook>& operation) override;
  void find(const std::shared_ptr<QueueLook>& operation) override;
  void end(const std::shared_ptr<Release>& operation) override;

 private:
  [[nodiscard]] bool open(Operation& operation);
  void end_all() noexcept;
  [[nodiscard]] Parts& parts() noexcept;

  const Settings settings_;
  const std::unique_ptr<remote::Tls> tls_;
  std::unique_ptr<RedisClient> client_;  // since it was started
};

}  // namespace mortise::redis
