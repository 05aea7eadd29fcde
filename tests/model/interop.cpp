// SPDX-License-Identifier: MIT
// One thread drives the guests and brings about the faults, since the processes of ours are forked
// from it. It also notices where the whole machine, or this process, stood still.
#include "model/interop.hpp"

#include "model/cast.hpp"

#include <poll.h>

#include <algorithm>
#include <deque>
#include <sstream>
#include <vector>

namespace mortise::model {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds patience_with_guests{30};

class Neighbourhood {
 public:
  Neighbourhood(Stage& stage, const Neighbours& neighbours)
      : stage_(stage), lease_(neighbours.lease), dice_(stage.seed, 1), cast_(stage) {
    cast_.begin();
    for (std::uint32_t number = 0; number < neighbours.count; ++number) {
      const std::uint32_t name = number % stage.workload.names;
      const Guest::Start start = [&stage, &neighbours, name] {
        return neighbours.start(stage, stage.names[name]);
      };
      // Ours have indices below first_stranger, which is 64 times a guest's room.
      guests_.emplace_back(stage.history, 64 + number, name, start, lease_, dice_);
    }
    last_ = monotonic_ns();
  }

  void suffer(std::chrono::milliseconds length, InteropChronicle& chronicle) {
    const std::int64_t until = monotonic_ns() + std::chrono::nanoseconds(length).count();
    while (monotonic_ns() < until) {
      run_for(dice_.between(50ms, 300ms));
      ++chronicle.faults[bring_about()];
    }
  }

  // Everybody once more, and then nobody.
  void heal(InteropChronicle& chronicle) {
    std::vector<std::uint64_t> before;
    for (const Guest& guest : guests_) before.push_back(guest.tally().grants);
    const auto healed = [&] {
      std::uint32_t count = 0;
      for (std::size_t i = 0; i < guests_.size(); ++i) {
        if (guests_[i].tally().grants > before[i]) ++count;
      }
      return count;
    };
    run_until([&] { return healed() == guests_.size(); });
    chronicle.guests_healed = healed();
    goes_on_ = false;
    run_until([&] {
      return std::all_of(guests_.begin(), guests_.end(),
                         [](const Guest& guest) { return guest.rests(); });
    });
    stage_.tally->phase.store(Act::healed);
    chronicle.cast_trouble = cast_.end();
    for (const Guest& guest : guests_) {
      chronicle.guests.grants += guest.tally().grants;
      chronicle.guests.lost += guest.tally().lost;
      chronicle.guests.replaced += guest.tally().replaced;
    }
  }

 private:
  Guest& any_guest() { return guests_[dice_.below(static_cast<std::uint32_t>(guests_.size()))]; }

  // Each kind once, in this order; then by chance.
  std::string bring_about() {
    const std::uint32_t role = dice_.below(stage_.workload.processes);
    Guest& guest = any_guest();
    switch (next_ < 8 ? next_++ : dice_.below(8)) {
      case 0: cast_.crash(role, dice_); return "ours killed";
      case 1:
        cast_.pause_holder(role, [this] { run_for(dice_.between(lease_, lease_ * 3 / 2)); });
        return "ours stopped for longer than a lease";
      case 2:
      case 3: guest.kill(); return "theirs killed";
      case 4:
      case 5:
      case 6: pause(guest, dice_.between(1ms, lease_ / 8)); return "theirs stopped for a moment";
      default:
        pause(guest, dice_.between(lease_ * 4 / 3, lease_ * 2));
        return "theirs stopped for longer than a lease";
    }
  }

  void pause(Guest& guest, std::chrono::nanoseconds time) {
    guest.stop();
    run_for(time);
    guest.resume();
  }

  void run_for(std::chrono::nanoseconds time) {
    const std::int64_t until = monotonic_ns() + time.count();
    while (monotonic_ns() < until) turn();
  }

  template <class Done>
  void run_until(const Done& done) {
    const std::int64_t until =
        monotonic_ns() + std::chrono::nanoseconds(patience_with_guests).count();
    while (!done() && monotonic_ns() < until) turn();
  }

  void turn() {
    const std::int64_t now = monotonic_ns();
    for (Guest& guest : guests_) {
      // Where we were not there for so long, who knows who else was not.
      if (now - last_ > guest.unnoticed()) guest.doubt(last_);
    }
    last_ = now;
    for (Guest& guest : guests_) guest.step(goes_on_);
    std::vector<pollfd> polled;
    for (const Guest& guest : guests_) {
      polled.push_back({.fd = guest.descriptor(), .events = POLLIN, .revents = 0});
    }
    ::poll(polled.data(), polled.size(), 1);
  }

  Stage& stage_;
  const std::chrono::nanoseconds lease_;
  Dice dice_;
  ForkedCast cast_;
  std::deque<Guest> guests_;
  bool goes_on_ = true;
  std::uint32_t next_ = 0;  // fault that has not happened yet
  std::int64_t last_ = 0;
};

}  // namespace

InteropChronicle play_beside(Stage& stage, const Neighbours& neighbours,
                             std::chrono::milliseconds length) {
  InteropChronicle chronicle;
  {
    Neighbourhood neighbourhood(stage, neighbours);
    neighbourhood.suffer(length, chronicle);
    neighbourhood.heal(chronicle);
  }
  chronicle.report = check_mixed(stage.history, {.names = stage.names, .describe = 4});
  std::ostringstream text;
  text << chronicle.report.text() << "\n  theirs: " << chronicle.guests.grants << " holds, "
       << chronicle.guests.lost << " lost, " << chronicle.guests.replaced << " replaced; faults:";
  for (const auto& [fault, count] : chronicle.faults) text << ' ' << fault << ' ' << count << ',';
  text << " ours lost early " << stage.tally->lost_early.load();
  chronicle.figures = text.str();
  return chronicle;
}

}  // namespace mortise::model
