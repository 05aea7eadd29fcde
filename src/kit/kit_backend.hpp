// SPDX-License-Identifier: MIT
// The backend of a protocol: requests of the library as calls.
#pragma once

#include <mortise/backend.hpp>
#include <mortise/remote/protocol.hpp>

#include "kit/connection.hpp"
#include "kit/kit_client.hpp"

#include <memory>
#include <string>

namespace mortise::kit {

class KitBackend final : public Backend, public Inspector {
 public:
  /// @param destination without `where`
  KitBackend(Destination destination, std::unique_ptr<const remote::Protocol> protocol);

  [[nodiscard]] StoreDescription describe() const override;
  void start(Host& host) override;
  void stop() noexcept override;
  void acquire(const std::shared_ptr<Acquisition>& operation) override;
  void cancel(const std::shared_ptr<Acquisition>& operation) override;
  void renew(const std::shared_ptr<Renewal>& operation) override;
  void release(const std::shared_ptr<Release>& operation) override;
  void check(const std::shared_ptr<Check>& operation) override;
  [[nodiscard]] Inspector* inspector() noexcept override { return this; }
  void inspect(const std::shared_ptr<Inspection>& operation) override;

 private:
  /// @return false: it is done already, or the client is closed
  [[nodiscard]] bool open(Operation& operation);

  const std::unique_ptr<const remote::Protocol> protocol_;
  Destination destination_;
  std::unique_ptr<KitClient> client_;
};

}  // namespace mortise::kit
