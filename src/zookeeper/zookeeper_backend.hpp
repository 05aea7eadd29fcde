// SPDX-License-Identifier: MIT
// The ZooKeeper backend: passes the requests of the library, and the events of its sessions, to the
// parts of the client.
#pragma once

#include <mortise/backend.hpp>

#include "base/timer_source.hpp"
#include "remote/timer.hpp"
#include "zookeeper/attempts.hpp"
#include "zookeeper/late_nodes.hpp"
#include "zookeeper/parts.hpp"
#include "zookeeper/pulse.hpp"
#include "zookeeper/questions.hpp"
#include "zookeeper/seen_queues.hpp"
#include "zookeeper/sessions.hpp"
#include "zookeeper/settings.hpp"
#include "zookeeper/tidying.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace mortise::zookeeper {

/// The parts of a client.
struct ZooKeeperClient {
  ZooKeeperClient(const Settings& settings, Session::Owner& owner);

  Parts parts;
  LateNodes late{parts};
  SeenQueues seen{};
  Tidying tidying{parts};
  Sessions sessions;
  Attempts attempts{parts};
  Pulses pulses{parts};
  Renewals renewals{parts, pulses};
  Questions questions{parts};

  /// Does what is due by time alone.
  void tick(Instant now);
  /// @return when that is.
  [[nodiscard]] Instant due() const;
};

/// One mutex for all state, the C client's included. It is never held while anything waits.
/// Completions are collected under it, and made without it.
class ZooKeeperBackend final : public Backend,
                               public Records,
                               public Inspector,
                               public Catalog,
                               public Enforcer,
                               private Session::Owner {
 public:
  explicit ZooKeeperBackend(Settings settings);
  ~ZooKeeperBackend() override;

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
  /// From its making to its end the mutex is held. Then the requests are sent, and the completions
  /// are made.
  class CompletionScope {
   public:
    explicit CompletionScope(ZooKeeperBackend& backend);
    ~CompletionScope();
    CompletionScope(const CompletionScope&) = delete;
    CompletionScope& operator=(const CompletionScope&) = delete;

   private:
    ZooKeeperBackend& backend_;
    std::unique_lock<std::mutex> lock_;
  };
  /// Everything that is due by time alone, for all sessions: polled even while no caller waits.
  class Alarm final : public base::TimerSource {
   public:
    explicit Alarm(ZooKeeperBackend& backend) : backend_(backend) {}
    [[nodiscard]] Instant due() const noexcept override { return shown_.get(); }
    void ready(short events, Instant now) override;
    /// @return true if it is due earlier than before.
    bool show(Instant due) noexcept { return shown_.set(due); }

   private:
    ZooKeeperBackend& backend_;
    remote::Moment shown_;
  };

  // Session::Owner
  void session_ready(Session& session, short events, Instant now) override;
  void session_up(Session& session) override;
  void session_down(Session& session) override;
  void session_over(Session& session, const Failure& why, bool at_server) override;

  [[nodiscard]] bool open(const std::shared_ptr<Operation>& operation);
  template <class Kind>
  void ask(const std::shared_ptr<Kind>& operation);

  const Settings settings_;
  std::atomic<bool> stopped_{false};
  std::atomic<std::int64_t> negotiated_ms_{0};
  Alarm alarm_{*this};
  mutable std::mutex mutex_;
  ZooKeeperClient client_;
};

}  // namespace mortise::zookeeper
