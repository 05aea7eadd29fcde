// SPDX-License-Identifier: MIT
// Descriptors of simulated processes: what can be polled. Numbers are given as a kernel gives them,
// the lowest free one first, since the reuse of a number is where programs err.
#pragma once

#include "simulation/world/world.hpp"

#include <poll.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace simulation {

/// Something that a thread may sleep on through its number.
class Descriptor : public std::enable_shared_from_this<Descriptor> {
 public:
  explicit Descriptor(Process& owner) : owner_(owner) {}
  virtual ~Descriptor() = default;
  [[nodiscard]] Process& owner() const noexcept { return owner_; }
  /// @return POLLIN, POLLOUT, POLLERR, POLLHUP as they are now.
  [[nodiscard]] virtual short ready() const = 0;
  /// Its number is given back.
  virtual void closed() {}
  /// Wakes whoever sleeps on it.
  void changed();

  bool blocking = true;  // no O_NONBLOCK
  std::vector<Thread*> pollers;

 private:
  Process& owner_;
};

/// eventfd(2), not a semaphore.
class EventCounter final : public Descriptor {
 public:
  using Descriptor::Descriptor;
  [[nodiscard]] short ready() const override {
    return static_cast<short>(POLLOUT | (count > 0 ? POLLIN : 0));
  }
  std::uint64_t count = 0;
};

/// timerfd(2) of the boot clock, relative and once; or the watch for changes of the wall clock.
class Timer final : public Descriptor {
 public:
  using Descriptor::Descriptor;
  [[nodiscard]] short ready() const override;
  void set(Nanos in);  ///< of the process' clock; 0 = not at all
  /// Takes the expiry. @return whether it had expired
  bool take();
  /// Readable, as ECANCELED, once the wall clock was set, which a resume does, too.
  void watch() noexcept { watches_ = true; }
  void clock_was_set();
  [[nodiscard]] bool cancelled() const noexcept { return cancelled_; }

 private:
  void look();
  bool watches_ = false;
  bool cancelled_ = false;
  Nanos due_ = never;
  Nanos armed_ = never;
};

/// The numbers. All processes share them, as they share the library's own table of them.
class Descriptors {
 public:
  static constexpr int first = 1'000;
  int add(std::shared_ptr<Descriptor> descriptor);
  [[nodiscard]] Descriptor* find(int number) const noexcept {
    const auto index = static_cast<std::size_t>(number - first);
    return number >= first && index < open_.size() ? open_[index].get() : nullptr;
  }
  [[nodiscard]] std::shared_ptr<Descriptor> share(int number) const {
    return find(number) == nullptr ? nullptr : open_[static_cast<std::size_t>(number - first)];
  }
  /// @return false: there is no such number
  bool close(int number);
  void close_all_of(const Process& process);
  /// Its machine is back from a suspend.
  void resumed(const Process& process);
  /// @return how many a process has open: what leaks shows here.
  [[nodiscard]] std::size_t count(const Process& process) const;
  /// poll(2) for the running thread. @return how many are ready
  int poll(pollfd* polled, std::size_t count, Nanos at_most);

 private:
  [[nodiscard]] int look(pollfd* polled, std::size_t count) const;
  std::vector<std::shared_ptr<Descriptor>> open_;
};

}  // namespace simulation
