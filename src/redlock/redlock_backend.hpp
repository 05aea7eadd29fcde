// SPDX-License-Identifier: MIT
// The backend of a quorum: asks all servers at once and makes one answer of theirs.
#pragma once

#include <mortise/backend.hpp>

#include "redlock/settings.hpp"
#include "remote/stream/tls.hpp"

#include <memory>
#include <string>

namespace mortise::redlock {

class RedlockClient;

/// The calling thread writes to every server and reads until a majority has answered. Nothing is
/// asked while fewer than a majority are connected. src/redlock/README.md has the order of the
/// mutexes.
class RedlockBackend final : public Backend, public Inspector, public Enforcer {
 public:
  /// @throws Error (`misconfigured`): a file of the TLS settings
  explicit RedlockBackend(Settings settings);
  ~RedlockBackend() override;

  [[nodiscard]] StoreDescription describe() const override;
  void start(Host& host) override;
  void stop() noexcept override;
  void acquire(const std::shared_ptr<Acquisition>& operation) override;
  void cancel(const std::shared_ptr<Acquisition>& operation) override;
  void renew(const std::shared_ptr<Renewal>& operation) override;
  void release(const std::shared_ptr<Release>& operation) override;
  void check(const std::shared_ptr<Check>& operation) override;
  [[nodiscard]] std::string why_not(Feature feature) const override;
  [[nodiscard]] Inspector* inspector() noexcept override { return this; }
  [[nodiscard]] Enforcer* enforcer() noexcept override { return this; }
  void inspect(const std::shared_ptr<Inspection>& operation) override;
  void find(const std::shared_ptr<QueueLook>& operation) override;
  void end(const std::shared_ptr<Release>& operation) override;

 private:
  [[nodiscard]] bool open(Operation& operation);

  const Settings settings_;
  const std::string words_;
  const std::unique_ptr<remote::Tls> tls_;
  std::unique_ptr<RedlockClient> client_;
};

}  // namespace mortise::redlock
