// SPDX-License-Identifier: MIT
// The memory backend: its server is in the library, and misbehaves by itself when it is told to.
#include <mortise/memory.hpp>

#include "core/figures.hpp"
#include "simulation/scene/bounds.hpp"
#include "simulation/scene/latecomers.hpp"
#include "simulation/scene/mixed_requests.hpp"
#include "simulation/scene/stands.hpp"

#include <optional>
#include <utility>

namespace simulation {
namespace {

constexpr std::uint64_t mixed_stream = 53;
constexpr std::uint64_t late_stream = 59;

class WorldClock final : public mortise::Clock {
 public:
  explicit WorldClock(World& world) : world_(world) {}
  [[nodiscard]] mortise::Instant now() const noexcept override {
    return mortise::Instant(std::chrono::hours(2) + world_.now());
  }

 private:
  World& world_;
};

class MemoryStand final : public Stand {
 public:
  MemoryStand(const Plan& plan, Room& room)
      : room_(room),
        server_(std::make_shared<WorldClock>(room.world)),
        seed_(plan.seed),
        left_(plan.lease + std::chrono::seconds(2) * static_cast<int>(plan.clients)),
        names_(plan.names) {
    room.world.mutexes_are_shared = true;
    calm();
  }
  [[nodiscard]] std::unique_ptr<mortise::Backend> backend(std::size_t /*client*/) override {
    return server_.backend();
  }
  std::string special(std::uint64_t which, Random& random, Nanos length) override {
    mortise::memory::Faults faults = usual();
    faults.seed = random.next();
    std::string words;
    switch (which) {
      case 0:
        faults.delay_max = length;
        lateness_ = std::max(lateness_, length);
        late_until_ = std::max(late_until_, room_.world.now() + 2 * length);
        words = "messages are late";
        break;
      case 1:
        faults.lose_push = 0.5;
        words = "pushes are lost";
        break;
      case 2:
        faults.lose_reply = 0.3;
        words = "answers are lost";
        break;
      case 3:
        faults.lose_request = 0.3;
        words = "requests are lost";
        break;
      default:
        server_.set_reachable(false);
        room_.world.after(length, [this] { server_.set_reachable(true); });
        return "the server cannot be reached";
    }
    server_.set_faults(faults);
    room_.world.after(length, [this] { calm(); });
    return words;
  }
  [[nodiscard]] bool remembers() const override { return true; }
  void calm() override { server_.set_faults(usual()); }
  [[nodiscard]] Nanos lateness() const override { return lateness_; }
  // Connections are made anew within a second or two; waiters ask each second. What was sent while
  // messages were late comes late.
  [[nodiscard]] Nanos recovery() const override {
    return std::chrono::seconds(4) + std::max(late_until_ - room_.world.now(), Nanos(0));
  }
  [[nodiscard]] std::uint64_t work() const override { return server_.requests(); }
  [[nodiscard]] std::uint64_t requests() const override { return server_.requests(); }
  void last_trial() override {
    const auto backends = [this] { return server_.backend(); };
    mixed_.emplace(room_, *judge, backends, Random::of({seed_, mixed_stream}));
    mixed_->cut_off = [this](Nanos time) {
      server_.set_reachable(false);
      room_.world.after(time, [this] { server_.set_reachable(true); });
    };
    mixed_->come();
    late_.emplace(room_, *judge, backends, Random::of({seed_, late_stream}));
    late_->delay = [this](Nanos time) {
      mortise::memory::Faults faults = usual();
      faults.delay_min = faults.delay_max = time;
      server_.set_faults(faults);
    };
    late_->come();
  }
  // What it holds, and what is given to it in its turn, ends by itself.
  void dies(const Process& /*process*/) override { unclear_until_ = room_.world.now() + left_; }
  [[nodiscard]] std::optional<Verdict> look(Judge& its_judge, Nanos quiet) override;

 private:
  /// A hold, and when somebody knew of it last.
  struct Name {
    std::uint64_t number = 0;
    Nanos since{0};
  };
  [[nodiscard]] mortise::memory::Faults usual() const {
    mortise::memory::Faults faults;
    faults.seed = seed_ + 1;
    if (seed_ % 2 == 1) faults.delay_max = std::chrono::microseconds(100);
    return faults;
  }
  Room& room_;
  std::optional<MixedRequests> mixed_;
  std::optional<Latecomers> late_;
  Nanos lateness_{0};
  Nanos late_until_{0};
  mortise::memory::Server server_;
  std::uint64_t seed_;
  const Nanos left_;
  Nanos unclear_until_{0};
  std::vector<Name> names_;
};

// S5: nobody keeps others out without knowing it. Whoever is owed a hold hears of it when it asks
// next, within a second, or gives it back.
std::optional<Verdict> MemoryStand::look(Judge& its_judge, Nanos quiet) {
  constexpr Nanos soon = std::chrono::seconds(4);
  const Nanos now = room_.world.now();
  for (std::size_t i = 0; i < names_.size(); ++i) {
    Name& name = names_[i];
    const std::optional<mortise::Holder> holder = server_.holder(lock_name(i));
    const std::uint64_t number =
        holder ? holder->token.value() / mortise::core::tokens_in_a_grant : 0;
    const bool another = std::exchange(name.number, number) != number;
    if (another || number == 0 || now < unclear_until_ || its_judge.knows(i, number)) {
      name.since = now;
    } else if (std::min(now - name.since, quiet) >= soon) {
      return Verdict{"S5", lock_name(i) + " is held by an attempt that nobody knows of, number " +
                               std::to_string(number)};
    }
  }
  return std::nullopt;
}

}  // namespace

std::unique_ptr<Stand> make_memory_stand(const Plan& plan, Room& room) {
  return std::make_unique<MemoryStand>(plan, room);
}

}  // namespace simulation
