// SPDX-License-Identifier: MIT
// What one `Client` owns: the backend, the engine, the threads, the names. Locks and guards share
// it, so that it outlives the `Client` as an empty, closed shell.
#pragma once

#include <mortise/backend.hpp>
#include <mortise/options.hpp>
#include <mortise/store_id.hpp>

#include "core/name_state.hpp"
#include "runtime/background.hpp"
#include "runtime/closing.hpp"
#include "runtime/engine.hpp"
#include "runtime/notifier.hpp"
#include "runtime/open_requests.hpp"
#include "runtime/shared_terms.hpp"
#include "runtime/slot_table.hpp"

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

namespace mortise::runtime {

class Attempt;
class Slot;

/// @thread_safety every member may be called concurrently.
class ClientState final : public Host, public std::enable_shared_from_this<ClientState> {
 public:
  ClientState(std::unique_ptr<Backend> backend, ClientOptions options);
  ~ClientState() override;

  // Host
  [[nodiscard]] const std::shared_ptr<Clock>& clock() const noexcept override { return clock_; }
  void attach(Source& source) override;
  void detach(Source& source) noexcept override { engine_.detach(source); }
  void changed(Source& source) noexcept override { engine_.changed(source); }
  void hold_lost(const HoldId& hold, Failure why) override;
  void hold_wanted(const HoldId& hold) override;

  /// Starts the backend; a separate step, because it may call back.
  void start();
  /// @return whether calls may go on: not closed, and not in a forked child, where no mutex of ours
  /// may be touched.
  [[nodiscard]] bool alive() const noexcept { return !forked() && !closing_.begun(); }
  [[nodiscard]] bool forked() const noexcept { return generation_ != base::fork_generation(); }
  [[nodiscard]] Failure closed_failure() const;
  void close() noexcept { closing_.close(); }
  [[nodiscard]] Closing& closing() noexcept { return closing_; }
  /// Asks the backend whether locks can be taken.
  Failure check(std::chrono::nanoseconds wait);

  /// @return the one slot of a name.
  [[nodiscard]] std::shared_ptr<Slot> slot(std::string_view name);
  /// @return the one slot of an owner for a semaphore.
  [[nodiscard]] std::shared_ptr<Slot> permit(std::string_view name, Owner owner);
  /// @return the one slot of a key.
  [[nodiscard]] std::shared_ptr<Slot> key(std::string_view key);
  /// @return what checked options come to.
  /// @param permits of a semaphore; 0 = of a lock, or a key
  [[nodiscard]] std::shared_ptr<const core::Terms> terms(const LockOptions& options,
                                                         std::uint32_t permits = 0);
  /// The locks' slots, the keys', or those of permits.
  [[nodiscard]] SlotTable& slots(Mode mode = Mode::exclusive) noexcept {
    if (mode == Mode::permit) return permits_;
    return mode == Mode::once ? keys_ : locks_;
  }
  template <class Visit>
  void each_slot(Visit visit) {
    locks_.each(visit);
    keys_.each(visit);
    permits_.each(visit);
  }
  [[nodiscard]] OpenRequests& open_requests() noexcept { return open_requests_; }
  /// Has every caller that waits for a name look again, at the clock and at the client.
  void poke_waiters() noexcept;
  /// Completes an operation with `closed`.
  void end(Operation& operation) const noexcept;

  [[nodiscard]] Instant now() const noexcept { return clock_->now(); }
  [[nodiscard]] Backend& backend() noexcept { return *backend_; }
  [[nodiscard]] Background& background() noexcept { return background_; }
  /// Requests the stop of those who are told of a loss.
  [[nodiscard]] Notifier& losses() noexcept { return losses_; }
  /// Tells the observer, apart from that: one that blocks delays no loss.
  [[nodiscard]] Notifier& news() noexcept { return news_; }
  [[nodiscard]] Observer* observer() const noexcept { return options_.observer.get(); }
  [[nodiscard]] const std::shared_ptr<Observer>& shared_observer() const noexcept {
    return options_.observer;
  }
  [[nodiscard]] const ClientOptions& options() const noexcept { return options_; }
  [[nodiscard]] const core::TurnLimits& turn() const noexcept { return turn_; }
  [[nodiscard]] const SafetyMargin& safety_margin() const noexcept { return margin_; }

  /// @return the id of a new attempt.
  [[nodiscard]] AttemptId new_attempt_id() noexcept;
  /// @return a number for a hold, unlike any other of this client.
  [[nodiscard]] std::uint64_t new_generation() noexcept { return generations_.fetch_add(1) + 1; }
  /// Waits for an operation in the backend's way, or in the engine's.
  /// @param now by the client's clock, just before: so long before `at_most` has passed
  void wait(Operation& operation, std::uint32_t seen, std::chrono::nanoseconds at_most,
            Instant now);
  /// Waits until the operation is done, at most that long. @param began the real time now
  /// @return whether it is done
  bool wait_done(Operation& operation, std::chrono::nanoseconds at_most,
                 Instant began = BootClock::now());
  /// Has a caller that is about to sleep woken after the machine was suspended: its sleep does not
  /// count that time.
  void watch_for_suspend() noexcept;
  /// The caller has asked the backend for something that it does not wait for: has the answer read.
  void have_answers_read() noexcept { engine_.have_replies_read(); }
  /// Starts what a hold under these terms needs. @return `exhausted` if that fails.
  Failure prepare(const core::Terms& terms);
  /// Starts what any other request to the backend needs. @return `exhausted` if that fails.
  Failure prepare_to_ask();
  /// @return what keeps a request from being answered, as far as the backend knows.
  [[nodiscard]] Failure why_unanswered(const Operation& asked) const;
  /// The same of one of which it knows nothing.
  [[nodiscard]] Failure no_answer(Errc code = Errc::unavailable) const;
  /// Has the backend keep requests back, where it can: the caller is about to make several, and
  /// then has them sent.
  void keep_requests_back() noexcept;
  void send_kept_back() noexcept;
  /// Hands a release to the backend; one that cannot be sent is left to be repeated.
  /// @param until of a release that no caller waits for: the client repeats it until then
  void send(const std::shared_ptr<Release>& release, Instant until = {});
  /// Gives back what an attempt was granted, without waiting.
  void undo(const Attempt& attempt);
  /// Takes an attempt back that nobody waits for, without waiting.
  void abandon(const std::shared_ptr<Attempt>& attempt);
  /// The same for one that was cancelled and abandoned already.
  void adopt(const std::shared_ptr<Attempt>& attempt);

 private:
  Failure start_background();

  void look_at_the_clock() noexcept;

  const std::uint32_t generation_ = base::fork_generation();
  ClientOptions options_;
  core::TurnLimits turn_;
  std::string default_label_;
  std::shared_ptr<Clock> clock_;
  const bool real_time_;  // that is the real one
  AttemptId client_id_;
  SafetyMargin margin_;
  bool leases_ = true;
  std::atomic<std::uint64_t> attempts_{0};
  std::atomic<std::uint64_t> generations_{0};
  Closing closing_;
  SlotTable locks_{Mode::exclusive};
  SlotTable keys_{Mode::once};
  SlotTable permits_{Mode::permit};
  SharedTerms terms_;
  OpenRequests open_requests_;

  // In the order of their dependence: the last is destroyed first.
  std::shared_ptr<void> clock_steps_;
  Engine engine_;
  std::unique_ptr<Backend> backend_;
  Notifier losses_;
  Notifier news_;
  Background background_;
};

/// @return which store the client's holds are in, as users see it.
[[nodiscard]] StoreId store_of(ClientState& client);

/// Gives up a reference. In a forked child the object is kept for ever instead: its threads do not
/// exist there, its mutexes may be locked, and its descriptors are closed already.
void drop(std::shared_ptr<ClientState> client) noexcept;
void drop(std::shared_ptr<Slot> slot) noexcept;

}  // namespace mortise::runtime
