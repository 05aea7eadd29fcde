// SPDX-License-Identifier: MIT
// Sites for tests of the model alone: virtual time, and clients that are strings.
#pragma once

#include "simulation/server.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace simulation::zookeeper {

class VirtualSites {
 public:
  /// @param seed decides all delays
  VirtualSites(std::size_t count, std::uint64_t seed) : random_(seed) {
    for (std::size_t i = 0; i < count; ++i) sites_.push_back(std::make_unique<OneSite>(*this));
  }

  [[nodiscard]] std::vector<Site*> all() const {
    std::vector<Site*> out;
    for (const auto& site : sites_) out.push_back(site.get());
    return out;
  }
  [[nodiscard]] Nanos now() const noexcept { return now_; }
  /// Does what is due until then.
  void run_until(Nanos when) {
    while (!due_.empty() && due_.begin()->first.first <= when) run_one();
    now_ = when;
  }
  void run_for(Nanos time) { run_until(now_ + time); }
  /// @return whether it came to be so in that time.
  template <class Condition>
  bool run_until(Condition condition, Nanos at_most) {
    const Nanos limit = now_ + at_most;
    while (!condition()) {
      if (due_.empty() || due_.begin()->first.first > limit) return false;
      run_one();
    }
    return true;
  }
  /// A server stands still: what is due comes when it goes on.
  void pause(std::size_t which, bool yes) {
    sites_[which]->paused = yes;
    if (yes) return;
    for (auto& then : std::exchange(sites_[which]->missed, {})) add(now_, which, std::move(then));
  }
  /// Before `Server::restarted()`.
  void restart(std::size_t which) {
    OneSite& site = *sites_[which];
    ++site.life;
    for (const ConnectionId connection : std::exchange(site.connections, {})) {
      ended_[connection] = true;
    }
  }
  /// A client does something to a server.
  void reach(std::size_t which, ConnectionId connection, std::function<void()> then) {
    OneSite& site = *sites_[which];
    site.connections.insert(connection);
    const auto guarded = [this, connection, then = std::move(then)] {
      if (!hung_up(connection)) then();
    };
    if (site.paused) {
      site.missed.emplace_back(guarded);
    } else {
      guarded();
    }
  }

  /// @return what a server has said to a connection since the last call.
  std::string take(ConnectionId connection) { return std::exchange(said_[connection], {}); }
  [[nodiscard]] bool hung_up(ConnectionId connection) const { return ended_.contains(connection); }
  [[nodiscard]] std::uint64_t random() {
    random_ += 0x9e3779b97f4a7c15U;  // SplitMix64
    std::uint64_t out = random_;
    out = (out ^ (out >> 30U)) * 0xbf58476d1ce4e5b9U;
    out = (out ^ (out >> 27U)) * 0x94d049bb133111ebU;
    return out ^ (out >> 31U);
  }

 private:
  struct OneSite final : Site {
    explicit OneSite(VirtualSites& all) : sites(all) {}
    [[nodiscard]] Nanos wall() const override { return std::chrono::hours(480'000) + sites.now_; }
    [[nodiscard]] Nanos uptime() const override { return sites.now_; }
    [[nodiscard]] std::uint64_t random() override { return sites.random(); }
    void send(ConnectionId connection, std::string_view bytes) override {
      sites.said_[connection].append(bytes);
    }
    void hang_up(ConnectionId connection) override { sites.ended_[connection] = true; }
    void after(Nanos delay, std::function<void()> then) override {
      const auto guarded = [this, then = std::move(then), then_life = life] {
        if (then_life == life) then();
      };
      sites.add(sites.now_ + delay, index(), guarded);
    }
    void note(std::string_view words) override { notes.emplace_back(words); }
    [[nodiscard]] std::size_t index() const {
      std::size_t out = 0;
      while (sites.sites_[out].get() != this) ++out;
      return out;
    }

    VirtualSites& sites;
    bool paused = false;
    std::uint64_t life = 0;
    std::vector<std::function<void()>> missed{};
    std::vector<std::string> notes{};
    std::set<ConnectionId> connections{};
  };

  void add(Nanos when, std::size_t site, std::function<void()> then) {
    due_.emplace(std::pair(when, ++count_), std::pair(site, std::move(then)));
  }
  void run_one() {
    auto next = due_.extract(due_.begin());
    now_ = std::max(now_, next.key().first);
    auto& [which, then] = next.mapped();
    if (sites_[which]->paused) {
      sites_[which]->missed.push_back(std::move(then));
    } else {
      then();
    }
  }

  std::vector<std::unique_ptr<OneSite>> sites_;
  std::map<std::pair<Nanos, std::uint64_t>, std::pair<std::size_t, std::function<void()>>> due_;
  std::map<ConnectionId, std::string> said_;
  std::map<ConnectionId, bool> ended_;
  Nanos now_ = std::chrono::hours(1);
  std::uint64_t count_ = 0;
  std::uint64_t random_;
};

}  // namespace simulation::zookeeper
