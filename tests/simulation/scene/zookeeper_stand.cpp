// SPDX-License-Identifier: MIT
// A ZooKeeper server, or an ensemble of three or five.
#include <mortise/zookeeper.hpp>

#include "simulation/scene/stands.hpp"
#include "simulation/zookeeper/ensemble.hpp"

#include <algorithm>
#include <memory>

namespace simulation {
namespace {

class ZooKeeperStand final : public Stand {
 public:
  ZooKeeperStand(const Plan& plan, Room& room) : room_(room), session_(plan.lease) {
    const std::size_t count = plan.seed % 4 == 0 ? 1 : plan.seed % 8 == 1 ? 5 : 3;
    std::vector<Site*> sites;
    for (std::size_t i = 0; i < count; ++i) {
      sites.push_back(&room.network.host("zookeeper " + std::to_string(i + 1)));
    }
    options_.tick = session_ / 5;
    ensemble_ = std::make_unique<zookeeper::Ensemble>(sites, options_);
    for (std::size_t i = 0; i < count; ++i) {
      room.network.hosts()[i]->serve(ensemble_->server(i));
    }
  }
  [[nodiscard]] std::unique_ptr<mortise::Backend> backend(std::size_t client) override {
    std::string url = "zookeeper://";
    const std::size_t count = ensemble_->size();
    for (std::size_t i = 0; i < count; ++i) {
      url += (i == 0 ? "10.0.0." : ",10.0.0.") + std::to_string((i + client) % count + 1);
    }
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(session_).count();
    // A follower tells the leader of its sessions each half tick, and the page wants more than
    // that.
    const auto margin =
        std::chrono::duration_cast<std::chrono::milliseconds>(options_.tick).count() * 6 / 10;
    return mortise::zookeeper::backend(url + "/locks?session=" + std::to_string(ms) +
                                       "ms&margin=" + std::to_string(margin) + "ms");
  }
  std::string special(std::uint64_t which, Random& random, Nanos length) override {
    const std::size_t count = ensemble_->size();
    const std::size_t one =
        which == 3 && ensemble_->leader() ? *ensemble_->leader() : random.below(count);
    const std::string who = "zookeeper " + std::to_string(one + 1);
    // Long enough for sessions to end, as a rule: that is what such a cut is about.
    const Nanos time = random.chance(0.5) ? length : std::max(length, session_ * 2);
    switch (which) {
      case 0:
      case 3:
        ensemble_->cut(one, true);
        room_.world.after(time, [this, one] { ensemble_->cut(one, false); });
        return who + " is cut off from the others" + (which == 3 ? ", and leads" : "");
      case 1: {
        const std::size_t other = (one + 1) % count;
        ensemble_->cut_link(one, other, true);
        room_.world.after(time, [this, one, other] { ensemble_->cut_link(one, other, false); });
        return who + " and the next one are cut off from each other";
      }
      default:
        ensemble_->throttle(one, true);
        room_.world.after(length, [this, one] { ensemble_->throttle(one, false); });
        return who + " has too many requests";
    }
  }
  void calm() override {
    for (std::size_t i = 0; i < ensemble_->size(); ++i) {
      ensemble_->cut(i, false);
      ensemble_->throttle(i, false);
      ensemble_->cut_link(i, (i + 1) % ensemble_->size(), false);
    }
  }
  [[nodiscard]] Nanos longest_hold_of_the_dead(const Plan& /*plan*/) const override {
    // An election, after which a new leader gives every session its whole time again.
    return session_ * 2 + options_.tick * 16;
  }
  [[nodiscard]] std::uint64_t work() const override { return requests(); }
  [[nodiscard]] std::uint64_t requests() const override {
    std::uint64_t all = 0;
    for (const auto& host : room_.network.hosts()) all += host->requests;
    return all;
  }
  [[nodiscard]] std::string leftovers(const std::vector<std::string>& names) override {
    for (const std::string& name : names) {
      const std::size_t left = ensemble_->children("/locks/" + escaped(name));
      if (left > 0) return name + " has " + std::to_string(left) + " nodes";
    }
    return {};
  }

 private:
  static std::string escaped(const std::string& name) {
    std::string text;
    for (const char each : name) text += each == '/' ? std::string("%2F") : std::string(1, each);
    return text;
  }
  Room& room_;
  const Nanos session_;
  zookeeper::Options options_;
  std::unique_ptr<zookeeper::Ensemble> ensemble_;
};

}  // namespace

std::unique_ptr<Stand> make_zookeeper_stand(const Plan& plan, Room& room) {
  return std::make_unique<ZooKeeperStand>(plan, room);
}

}  // namespace simulation
