// SPDX-License-Identifier: MIT
// The shared part of a `Client`: its names, its way to the store, its reports to the program. Locks
// and guards keep it, so it outlives the `Client` as an empty, closed shell.
#pragma once

#include <mortise/backend.hpp>
#include <mortise/options.hpp>
#include <mortise/store_id.hpp>

#include "base/fork.hpp"
#include "core/sharers.hpp"
#include "runtime/client/announcements.hpp"
#include "runtime/client/closing.hpp"
#include "runtime/client/numbers.hpp"
#include "runtime/client/shared_terms.hpp"
#include "runtime/engine/loop.hpp"
#include "runtime/engine/store_access.hpp"
#include "runtime/hold/slot_table.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>

namespace mortise::runtime {

class Slot;

/// @thread_safety every member may be called concurrently.
class ClientState final : public Host, public std::enable_shared_from_this<ClientState> {
 public:
  ClientState(std::unique_ptr<Backend> backend, ClientOptions options);
  ~ClientState() override;

  // Host
  [[nodiscard]] const std::shared_ptr<Clock>& clock() const noexcept override {
    return store_.clock();
  }
  void attach(Source& source) override;
  void detach(Source& source) noexcept override { store_.engine().detach(source); }
  void changed(Source& source) noexcept override { store_.engine().changed(source); }
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
  /// @return which store has the holds, as users see it; empty in a forked child.
  [[nodiscard]] StoreId store_id() const;
  /// @return a request that asks the backend whether locks can be taken.
  [[nodiscard]] std::shared_ptr<Check> new_check();
  /// Asks the backend whether locks can be taken.
  Failure check(std::chrono::nanoseconds wait);

  /// @param mode `permit` for a semaphore, `once` for a key; else for a lock
  /// @param owner of a semaphore; empty for all others
  /// @return the one slot of that name, and of that owner.
  [[nodiscard]] std::shared_ptr<Slot> slot(std::string_view name, Mode mode = Mode::exclusive,
                                           Owner owner = {});
  [[nodiscard]] Names& names() noexcept { return names_; }
  [[nodiscard]] StoreAccess& store() noexcept { return store_; }
  [[nodiscard]] Announcements& announcements() noexcept { return announcements_; }
  [[nodiscard]] SharedTerms& terms() noexcept { return terms_; }
  [[nodiscard]] Numbers& numbers() noexcept { return numbers_; }

  /// @return what drives the client instead of threads; null: it has threads.
  [[nodiscard]] Loop* loop() const noexcept { return loop_.get(); }
  [[nodiscard]] Instant now() const noexcept { return store_.clock()->now(); }
  [[nodiscard]] Observer* observer() const noexcept { return announcements_.observer().get(); }
  [[nodiscard]] const ClientOptions& options() const noexcept { return options_; }
  [[nodiscard]] const core::TurnLimits& turn() const noexcept { return turn_; }

 private:
  void look_at_the_clock() noexcept;

  const std::uint32_t generation_ = base::fork_generation();
  const ClientOptions options_;
  const core::TurnLimits turn_;
  Closing closing_;
  Numbers numbers_;
  SharedTerms terms_;
  Names names_;
  // In the order of their dependence: the last is destroyed first.
  std::shared_ptr<void> clock_steps_;
  Announcements announcements_;
  StoreAccess store_;
  std::unique_ptr<Loop> loop_;
};

/// Gives up a reference. In a forked child the object is kept for ever instead: its threads do not
/// exist there, its mutexes may be locked, and its descriptors are closed already.
void drop(std::shared_ptr<ClientState> client) noexcept;
void drop(std::shared_ptr<Slot> slot) noexcept;

}  // namespace mortise::runtime
