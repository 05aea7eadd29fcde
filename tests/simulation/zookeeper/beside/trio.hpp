// SPDX-License-Identifier: MIT
// Three servers that elect one of them, of the model or real, and what may befall them.
#pragma once

#include "simulation/zookeeper/beside/channels.hpp"
#include "support/zookeeper_ensemble.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace simulation::zookeeper {

/// How both are set up. One that is cut off notices after four ticks, sessions have from two.
inline constexpr std::chrono::milliseconds trio_tick{500};
inline constexpr int trio_sync_limit = 4;
inline constexpr int trio_init_limit = 20;

class Trio {
 public:
  static constexpr std::size_t size = 3;

  virtual ~Trio() = default;
  [[nodiscard]] virtual Place& place() = 0;
  [[nodiscard]] virtual std::size_t leader() = 0;
  /// Some time of its own, that passes while its clients wait.
  [[nodiscard]] virtual Nanos now() = 0;
  /// From all others, but not from its clients; for good.
  virtual void cut_off(std::size_t which) = 0;
  /// It ends without a word, and starts again with what it had.
  virtual void restart(std::size_t which) = 0;
  virtual void stop(std::size_t which) = 0;
  virtual void resume(std::size_t which) = 0;

  /// @return whether the condition came to hold in time.
  template <class Condition>
  [[nodiscard]] bool comes(Condition condition, Nanos at_most = std::chrono::seconds(60)) {
    const Nanos limit = now() + at_most;
    while (!condition()) {
      if (now() > limit) return false;
      place().wait(std::chrono::milliseconds(50));
    }
    return true;
  }
};

class ModelTrio final : public Trio {
 public:
  explicit ModelTrio(std::uint64_t seed);
  [[nodiscard]] Place& place() override { return place_; }
  [[nodiscard]] std::size_t leader() override;
  [[nodiscard]] Nanos now() override { return place_.sites().now(); }
  void cut_off(std::size_t which) override { place_.ensemble().cut(which, true); }
  void restart(std::size_t which) override;
  void stop(std::size_t which) override { place_.sites().pause(which, true); }
  void resume(std::size_t which) override { place_.sites().pause(which, false); }

 private:
  ModelPlace place_;
};

class RealTrio final : public Trio {
 public:
  using Links = mortise::test::ZooKeeperEnsemble::Links;
  explicit RealTrio(Links links);
  [[nodiscard]] Place& place() override { return *place_; }
  [[nodiscard]] std::size_t leader() override { return all_.leader(); }
  [[nodiscard]] Nanos now() override;
  void cut_off(std::size_t which) override { all_.cut_off(which); }
  void restart(std::size_t which) override { all_.server(which).restart(); }
  void stop(std::size_t which) override { all_.server(which).stop(); }
  void resume(std::size_t which) override { all_.server(which).resume(); }

 private:
  mortise::test::ZooKeeperEnsemble all_;
  std::unique_ptr<RealPlace> place_;
};

}  // namespace simulation::zookeeper
