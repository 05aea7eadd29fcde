// SPDX-License-Identifier: MIT
// All lookups of host names in this process. getaddrinfo() has no time-out: a dead name server
// keeps a thread in it for 10 s and more. So a few threads do it for all clients.
#pragma once

#include <mortise/clock.hpp>

#include "base/endpoint.hpp"
#include "base/fork.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace mortise::base {

class NameQuestion;

/// Equal questions share one lookup. A thread ends when no lookup is left for it.
/// @thread_safety every member may be called concurrently.
class NameLookups : public std::enable_shared_from_this<NameLookups> {
 public:
  static constexpr std::size_t most_threads = 8;
  /// At most this many threads look up names that were slow before. Other names find a free thread,
  /// even if the name servers of many names are dead.
  static constexpr std::size_t most_slow = 4;
  /// An answer that comes when nobody waits any more serves a question within this time. Otherwise
  /// a name server that takes a little longer than those who ask would be asked without end.
  static constexpr std::chrono::seconds late_for{2};

  /// Looks a host up; may block.
  using LookUp = std::function<Resolution(const std::string& host)>;
  [[nodiscard]] static std::shared_ptr<NameLookups> make(LookUp look_up);
  /// @return the one instance that uses the system's name service; a forked child has its own.
  [[nodiscard]] static std::shared_ptr<NameLookups> of_process();
  /// @return the addresses of a numeric host, which needs no lookup; nothing = it is a name.
  [[nodiscard]] static std::optional<Resolution> read_number(const std::string& host);
  /// @return whether that name means this machine, always.
  [[nodiscard]] static bool is_localhost(const std::string& host) noexcept;

 private:
  friend class NameQuestion;
  struct Lookup {
    std::string host;
    bool slow = false;  // the last lookup of this name was slow
    /// While a thread is in it, only that thread removes it.
    enum class State { waits, runs, is_over } state = State::waits;
    std::vector<NameQuestion*> askers{};
    // Of one that is over, and came when nobody waited any more.
    Resolution found{};
    Instant over_at{};
  };
  using Lookups = std::list<Lookup>;

  explicit NameLookups(LookUp look_up) : look_up_(std::move(look_up)) {}
  void ask(const std::string& host, NameQuestion& asker);
  void withdraw(NameQuestion& asker) noexcept;
  [[nodiscard]] bool answer_late(const std::string& host, NameQuestion& asker) noexcept;
  void finish_locked(Lookups::iterator mine, Resolution found) noexcept;
  void run() noexcept;
  [[nodiscard]] Lookups::iterator next_locked() noexcept;
  [[nodiscard]] Resolution look_up(const std::string& host) const noexcept;
  void note_speed_locked(const std::string& host, bool slow) noexcept;
  static void answer_locked(NameQuestion& asker, const Resolution& found) noexcept;

  const LookUp look_up_;
  const std::uint32_t generation_ = fork_generation();
  std::mutex mutex_;
  Lookups lookups_;  // in the order of the questions
  std::size_t threads_ = 0;
  std::size_t slow_running_ = 0;
  std::set<std::string> slow_names_;
};

/// One question at a time, and its answer.
/// @thread_safety one thread at a time.
class NameQuestion {
 public:
  explicit NameQuestion(std::shared_ptr<NameLookups> lookups) : lookups_(std::move(lookups)) {}
  ~NameQuestion() { withdraw(); }
  NameQuestion(const NameQuestion&) = delete;
  NameQuestion& operator=(const NameQuestion&) = delete;

  /// Replaces the last question and its answer. If a thread is needed and cannot be started, the
  /// answer is `exhausted`, at once.
  /// @param answered an eventfd that is signalled with the answer, and outlives the question; -1 =
  /// none
  void ask(const std::string& host, int answered);
  [[nodiscard]] bool awaits(const std::string& host) const;
  /// @return the answer, once; nothing = not yet, or taken already.
  [[nodiscard]] std::optional<Resolution> take();
  /// The answer is not needed any more. In a forked child it does nothing.
  void withdraw() noexcept;

 private:
  friend class NameLookups;
  const std::shared_ptr<NameLookups> lookups_;
  bool asked_ = false;  // otherwise the mutex, which all clients share, is left alone
  // Guarded by the mutex of the lookups.
  bool awaits_ = false;
  std::string host_;
  int answered_ = -1;
  std::optional<Resolution> answer_;
};

}  // namespace mortise::base
