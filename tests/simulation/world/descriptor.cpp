// SPDX-License-Identifier: MIT
#include "simulation/world/descriptor.hpp"

#include <algorithm>
#include <utility>

namespace simulation {

void Descriptor::changed() {
  // They look again themselves, and take themselves off the list.
  for (Thread* const thread : pollers) World::current()->wake(*thread);
}

short Timer::ready() const {
  return cancelled_ || World::current()->now() >= due_ ? static_cast<short>(POLLIN) : short{0};
}

void Timer::set(Nanos in) {
  World& world = *World::current();
  cancelled_ = watches_ = false;
  due_ = in.count() == 0 ? never : world.now() + owner().clock.in_world(in);
  if (due_ >= armed_) return;
  armed_ = due_;
  world.at(due_, [this, kept = weak_from_this()] {
    if (!kept.expired()) look();
  });
}

void Timer::look() {
  World& world = *World::current();
  armed_ = never;
  if (due_ == never) return;
  if (world.now() >= due_) {
    changed();
  } else {
    armed_ = due_;
    world.at(due_, [this, kept = weak_from_this()] {
      if (!kept.expired()) look();
    });
  }
}

void Timer::clock_was_set() {
  if (!watches_) return;
  cancelled_ = true;
  changed();
}

bool Timer::take() {
  if (ready() == 0) return false;
  due_ = never;
  return true;
}

int Descriptors::add(std::shared_ptr<Descriptor> descriptor) {
  const auto free = std::find(open_.begin(), open_.end(), nullptr);
  const auto index = free - open_.begin();
  if (free == open_.end()) open_.emplace_back();
  open_[static_cast<std::size_t>(index)] = std::move(descriptor);
  return first + static_cast<int>(index);
}

bool Descriptors::close(int number) {
  if (find(number) == nullptr) return false;
  const std::shared_ptr<Descriptor> closed =
      std::exchange(open_[static_cast<std::size_t>(number - first)], nullptr);
  closed->closed();
  // A real poll() goes on sleeping on what was closed under it; so does ours.
  return true;
}

void Descriptors::close_all_of(const Process& process) {
  for (std::size_t i = 0; i < open_.size(); ++i) {
    if (open_[i] && &open_[i]->owner() == &process) close(first + static_cast<int>(i));
  }
}

void Descriptors::resumed(const Process& process) {
  for (const auto& each : open_) {
    if (!each || &each->owner() != &process) continue;
    if (auto* const timer = dynamic_cast<Timer*>(each.get())) timer->clock_was_set();
  }
}

std::size_t Descriptors::count(const Process& process) const {
  return static_cast<std::size_t>(std::count_if(open_.begin(), open_.end(), [&](const auto& each) {
    return each && &each->owner() == &process;
  }));
}

int Descriptors::look(pollfd* polled, std::size_t count) const {
  int ready = 0;
  for (std::size_t i = 0; i < count; ++i) {
    pollfd& each = polled[i];
    each.revents = 0;
    if (each.fd < 0) continue;
    const Descriptor* const descriptor = find(each.fd);
    each.revents =
        descriptor == nullptr
            ? short{POLLNVAL}
            : static_cast<short>(descriptor->ready() & (each.events | POLLERR | POLLHUP));
    if (each.revents != 0) ++ready;
  }
  return ready;
}

int Descriptors::poll(pollfd* polled, std::size_t count, Nanos at_most) {
  int ready = look(polled, count);
  if (ready > 0 || at_most.count() <= 0) return ready;
  World& world = *World::current();
  Thread* const self = World::running();
  // Kept alive while slept on, as the kernel keeps the file.
  std::vector<std::shared_ptr<Descriptor>> slept_on;
  for (std::size_t i = 0; i < count; ++i) {
    std::shared_ptr<Descriptor> descriptor = share(polled[i].fd);
    if (!descriptor) continue;
    descriptor->pollers.push_back(self);
    slept_on.push_back(std::move(descriptor));
  }
  // Not counting what its machine is suspended for.
  const auto awake = [&] { return world.now() - self->process().asleep(); };
  const Nanos until = at_most >= never - world.now() ? never : awake() + at_most;
  while (ready == 0) {
    const bool woken = world.sleep(until == never ? never : std::max(until - awake(), Nanos(0)));
    ready = look(polled, count);
    if (!woken) break;
  }
  for (const auto& descriptor : slept_on) std::erase(descriptor->pollers, self);
  return ready;
}

}  // namespace simulation
