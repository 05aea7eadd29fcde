// SPDX-License-Identifier: MIT
// The backend of one PostgreSQL database: turns the requests of the library into calls of
// statements.
#pragma once

#include <mortise/backend.hpp>

#include "postgres/call.hpp"
#include "postgres/settings.hpp"

#include <memory>
#include <string>

namespace mortise::postgres {

struct Parts;
struct PostgresClient;

/// A few connections for statements, and one that listens, made when a caller has to wait for the
/// first time. Nothing is kept on a connection: while there is none, requests wait, and those that
/// were not answered are sent once more. Every statement may be repeated.
class PostgresBackend final : public Backend,
                              public Records,
                              public Inspector,
                              public Catalog,
                              public Enforcer {
 public:
  explicit PostgresBackend(Settings settings);
  ~PostgresBackend() override;

  [[nodiscard]] StoreDescription describe() const override;
  [[nodiscard]] std::string identity() const override;
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
  [[nodiscard]] std::string words() const;
  [[nodiscard]] bool open(Operation& operation);
  void submit(Call::Kind kind, std::shared_ptr<Operation> operation);
  [[nodiscard]] const Parts& parts() const noexcept;
  void end_all() noexcept;

  const Settings settings_;
  std::unique_ptr<PostgresClient> client_;  // since it was started
};

}  // namespace mortise::postgres
