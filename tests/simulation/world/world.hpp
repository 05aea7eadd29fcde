// SPDX-License-Identifier: MIT
// The simulated machine room: one line of virtual time, the events on it, the processes and their
// threads. It decides who runs when; it knows nothing of networks, locks or servers.
#pragma once

#include "simulation/world/fiber.hpp"
#include "simulation/world/random.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace simulation {

inline constexpr Nanos never = Nanos::max();

class World;
class Process;

/// A clock that drifts: it counts `ppm` millionths more than the world's time.
struct DriftingClock {
  Nanos offset{};
  std::int64_t ppm = 0;
  [[nodiscard]] Nanos at(Nanos world) const noexcept {
    return offset + world + Nanos(world.count() / 1'000'000 * ppm);
  }
  /// @return how long the world takes for that much of this clock, rounded up.
  [[nodiscard]] Nanos in_world(Nanos own) const noexcept {
    if (own == never) return never;
    return Nanos(static_cast<std::int64_t>(static_cast<double>(own.count()) /
                                           (1.0 + static_cast<double>(ppm) / 1e6)) +
                 1);
  }
};

/// A thread of a simulated process.
class Thread {
 public:
  Thread(Process& process, std::uint64_t id, std::function<void()> body)
      : process_(process), id_(id), fiber_(std::move(body)) {}
  [[nodiscard]] Process& process() const noexcept { return process_; }
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  [[nodiscard]] bool ended() const noexcept { return fiber_.ended(); }

 private:
  friend class World;
  friend class Process;
  Process& process_;
  const std::uint64_t id_;
  Fiber fiber_;
  bool blocked_ = false;
  bool timed_out_ = false;
  Nanos stopped_until_{0};  // the end of its last stop
  bool locking_ = false;    // it waits for a mutex
  bool wakes_ = false;      // from anything else, and does not yet run
  Nanos deadline_ = never;
  Nanos armed_ = never;         // an event looks at the deadline then
  std::vector<void*> mutexes_;  // that it holds
  std::vector<Thread*> joiners_;
};

/// How the threads of a process are scheduled.
struct Schedule {
  Nanos latency{2'000};  ///< from being woken to running, at most, as a rule
  double late = 0;       ///< how often it is up to `latest` instead
  Nanos latest{0};
  double preempted = 0;  ///< how often a thread is stopped at a mutex or a system call
  Nanos longest{0};      ///< and for how long at most
  double stale = 0;      ///< ... and between its look at the clock and its sleep
};

/// A simulated process: a clock, threads, descriptors that die with it.
class Process {
 public:
  Process(World& world, std::uint64_t number, std::string name);
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  [[nodiscard]] bool dead() const noexcept { return dead_; }
  [[nodiscard]] Nanos paused_until() const noexcept { return paused_until_; }
  /// @return whether all its threads sleep, and none of them for a mutex.
  [[nodiscard]] bool at_rest() const noexcept {
    return std::all_of(threads_.begin(), threads_.end(), [](const Thread* thread) {
      return thread->ended() || (thread->blocked_ && !thread->locking_);
    });
  }
  /// @return whether one of its threads holds a mutex.
  [[nodiscard]] bool locks() const noexcept {
    return std::any_of(threads_.begin(), threads_.end(), [](const Thread* thread) {
      return !thread->ended() && !thread->mutexes_.empty();
    });
  }
  [[nodiscard]] Random& random() noexcept { return random_; }
  [[nodiscard]] Nanos boot_time() const noexcept;
  /// @return CLOCK_MONOTONIC: without the time that its machine was suspended for.
  [[nodiscard]] Nanos awake_time() const noexcept { return boot_time() - asleep_own_; }
  /// @return the time of the world that its machine was suspended for, up to the last resume.
  [[nodiscard]] Nanos asleep() const noexcept { return asleep_; }
  [[nodiscard]] Nanos resumed_at() const noexcept { return resumed_at_; }

  DriftingClock clock;
  Nanos wall{};  ///< the wall clock is that far ahead of the boot clock
  Schedule schedule;

 private:
  friend class World;
  World& world_;
  const std::uint64_t number_;
  const std::string name_;
  Random random_;
  Random luck_;  // of the scheduler
  std::int64_t until_preempted_ = 0;
  Nanos paused_until_{0};
  bool dead_ = false;
  std::vector<Thread*> threads_;
  Nanos held_up_until_{0};  // the end of the last stop of one that held a mutex
  Nanos stolen_{0};         // the time in which one of them was stopped, with what is still to come
  Nanos stolen_until_{0};   // the end of the last stop
  struct Stop {
    Nanos begin;
    Nanos end;
  };
  std::vector<Stop> long_stops_;  // one behind the other
  Nanos asleep_since_ = never;
  Nanos asleep_{0};
  Nanos asleep_own_{0};  // of its clock
  Nanos resumed_at_{0};
  std::int64_t places_left_ = 0;  // before the one where a thread is to stop; 0: nowhere
  Nanos stop_there_{0};
  std::function<void()> stops_;
};

/// The world. There is one at a time; what the library calls of the system leads to it.
class World {
 public:
  explicit World(std::uint64_t seed);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// @return the world that exists, or null.
  [[nodiscard]] static World* current() noexcept { return current_; }
  /// @return the thread that runs now; null = the world itself.
  [[nodiscard]] static Thread* running() noexcept { return running_; }

  /// Steps out of the running thread for a moment: what is called then is called by the world.
  class Outside {
   public:
    Outside() noexcept : thread_(running_) { running_ = nullptr; }
    ~Outside() { running_ = thread_; }
    Outside(const Outside&) = delete;
    Outside& operator=(const Outside&) = delete;

   private:
    Thread* const thread_;
  };

  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  [[nodiscard]] Nanos now() const noexcept { return now_; }
  /// What a program does takes a little time.
  void pass(Nanos little) noexcept { now_ += little; }
  [[nodiscard]] std::uint64_t events() const noexcept { return events_done_; }

  /// Has something happen. Events of one moment happen in the order in which they were planned.
  void at(Nanos when, std::function<void()> act);
  void after(Nanos delay, std::function<void()> act) { at(now_ + delay, std::move(act)); }
  /// Runs until nothing more can happen, that moment has come, or `stop()`.
  void run(Nanos until);
  void stop() noexcept { stopped_ = true; }

  Process& process(std::string name);
  Thread& spawn(Process& process, std::function<void()> body);
  /// SIGSTOP and SIGCONT.
  void pause(Process& process, Nanos until);
  /// Suspends its machine: what threads sleep for is not counted meanwhile (CLOCK_MONOTONIC), but
  /// for timers of the boot clock.
  void suspend(Process& process, Nanos until);
  /// Has whichever thread of a process comes to the nth place from now where one may stop, stop
  /// there for so long. @param then is called when it does
  void stop_at_place(Process& process, std::uint64_t nth, Nanos time,
                     std::function<void()> then = {});
  /// SIGKILL: its threads never run again. Its descriptors are closed by `on_death`.
  void kill(Process& process);
  /// What else has to know that a process is gone.
  std::function<void(Process&)> on_death;
  /// What else has to know that the machine of a process is back from a suspend.
  std::function<void(const Process&)> on_resume;

  /// What looks like processes has a server in common that is objects in memory: a thread that is
  /// stopped while it has a mutex may hold up threads of all of them.
  bool mutexes_are_shared = false;
  /// @return for how long one thread or another of a process has not run so far although it could
  /// have: what the time limits of its program cannot be blamed for. Each moment counts once.
  [[nodiscard]] Nanos stolen(const Process& process) const noexcept;
  /// @return the same since then, of stops of a millisecond or more.
  [[nodiscard]] Nanos stolen_since(const Process& process, Nanos then) const noexcept;
  /// @return whether a thread could always go on since then: neither was it stopped itself, nor
  /// another one of its process while that held a mutex.
  [[nodiscard]] static bool unhindered(const Thread& thread, Nanos since) noexcept {
    return std::max(thread.stopped_until_, thread.process_.held_up_until_) <= since;
  }

  // For the running thread.
  /// A place where the scheduler may stop it.
  void point();
  /// Another one, where it gives the system a span of time to wait for: by now the span is too
  /// long, where it has looked at the clock before. Anywhere else such a stop does little harm.
  void point_before_sleep();
  /// Sleeps until `wake()`, at most that long (of the world). @return whether it was woken
  bool sleep(Nanos at_most);
  void wake(Thread& thread);
  /// Sleeps on an address. @return whether it was woken
  bool wait_on(const void* address, Nanos at_most);
  /// Wakes those who sleep there, the first ones first. @return how many
  int wake_at(const void* address, int count);
  void join(Thread& thread);
  [[nodiscard]] Thread* find(std::uint64_t id) noexcept;
  void lock(void* mutex);
  [[nodiscard]] bool try_lock(void* mutex);
  void unlock(void* mutex);
  /// The same at the beginning of a wait, before which the thread does not stop.
  void let_go(void* mutex);

  /// @return what each thread that has not ended does, for the story.
  [[nodiscard]] std::vector<std::string> threads_in_words() const;
  /// A line of the story, kept only where somebody wants to read it.
  void note(std::string_view who, std::string_view words);
  double spurious = 0;  ///< how often a thread that sleeps on an address wakes for no reason
  bool tells = false;
  bool tells_bytes = false;  ///< also what passes over the network
  std::vector<std::string> story;

 private:
  /// What will happen is in `acts_`: a heap moves its items about, and these are small.
  struct Event {
    Nanos when;
    std::uint64_t order;
    std::size_t act;
  };
  struct Later {
    bool operator()(const Event& a, const Event& b) const noexcept {
      return a.when != b.when ? a.when > b.when : a.order > b.order;
    }
  };
  void run(Thread& thread);
  void steal(Thread& thread, Nanos time);
  void take_time(Process& process, Nanos time);
  void stop_here(Thread& thread, Nanos time);
  void plan(Thread& thread, Nanos delay);
  void arm(Thread& thread);
  void alarm(Thread& thread);
  void resume(Process& process);
  void finish(Thread& thread);

  static World* current_;
  static Thread* running_;
  const std::uint64_t seed_;
  Nanos now_{0};
  std::uint64_t events_planned_ = 0;
  std::uint64_t events_done_ = 0;
  bool stopped_ = false;
  std::vector<Event> events_;  // a heap
  std::vector<std::function<void()>> acts_;
  std::vector<std::size_t> spare_acts_;  // places in `acts_` that are free
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::unordered_map<const void*, std::vector<Thread*>> sleepers_;
};

}  // namespace simulation
