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
class RedlockBackend final : public Backend {
 public:
  /// @throws Error (`misconfigured`): a file of the TLS settings
  explicit RedlockBackend(Settings settings);
  ~RedlockBackend() override;

  [[nodiscard]] Capabilities capabilities() const override;
  [[nodiscard]] std::string describe() const override { return words_; }
  [[nodiscard]] std::string why_not(Mode mode) const override;
  void start(Host& host) override;
  void stop() noexcept override;
  void acquire(const std::shared_ptr<Acquisition>& operation) override;
  void cancel(const std::shared_ptr<Acquisition>& operation) override;
  void renew(const std::shared_ptr<Renewal>& operation) override;
  void release(const std::shared_ptr<Release>& operation) override;
  void inspect(const std::shared_ptr<Inspection>& operation) override;
  void recall(const std::shared_ptr<Recollection>& operation) override;
  void check(const std::shared_ptr<Check>& operation) override;
  void list(const std::shared_ptr<Listing>& operation) override;
  void queue(const std::shared_ptr<QueueLook>& operation) override;

 private:
  [[nodiscard]] Failure without(Mode mode) const;
  [[nodiscard]] bool open(Operation& operation);

  const Settings settings_;
  const std::string words_;
  const std::unique_ptr<remote::Tls> tls_;
  std::unique_ptr<RedlockClient> client_;
};

}  // namespace mortise::redlock
