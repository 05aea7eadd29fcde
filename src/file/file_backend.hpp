// SPDX-License-Identifier: MIT
// The backend of a directory: gives each request to the entry of its name and completes it with
// what that decided.
#pragma once

#include <mortise/backend.hpp>

#include "file/directory.hpp"
#include "file/entries.hpp"
#include "file/number_floor.hpp"
#include "file/sweep.hpp"
#include "file/wake_word.hpp"
#include "file/watch.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::file {

/// What a URL says, and what only tests say.
struct Settings {
  std::string directory;
  bool create = false;
  bool flush = false;
  Sleeping sleeping = Sleeping::on_both;
  std::size_t most_idle = 256;

  /// Reads `file:` URLs; touches no file.
  /// @throws Error (`misconfigured`)
  static Settings parse(std::string_view url);
};

/// All work is done on the calling threads; it has none of its own.
class FileBackend final : public Backend, public Records, public Inspector, public Catalog {
 public:
  /// @throws Error where the directory will not do
  explicit FileBackend(const Settings& settings);
  ~FileBackend() override;

  [[nodiscard]] StoreDescription describe() const override;
  void start(Host& host) override;
  void stop() noexcept override;
  void acquire(const std::shared_ptr<Acquisition>& operation) override;
  void cancel(const std::shared_ptr<Acquisition>& operation) override;
  void renew(const std::shared_ptr<Renewal>& operation) override;
  void release(const std::shared_ptr<Release>& operation) override;
  void check(const std::shared_ptr<Check>& operation) override;
  [[nodiscard]] Records* records() noexcept override { return this; }
  [[nodiscard]] Inspector* inspector() noexcept override { return this; }
  [[nodiscard]] Catalog* catalog() noexcept override { return this; }
  void recall(const std::shared_ptr<Recollection>& operation) override;
  void inspect(const std::shared_ptr<Inspection>& operation) override;
  void list(const std::shared_ptr<Listing>& operation) override;
  void queue(const std::shared_ptr<QueueLook>& operation) override;
  bool wait(Operation& operation, std::uint32_t seen, std::chrono::nanoseconds at_most) override;
  [[nodiscard]] bool needs_waiting_threads() const noexcept override { return true; }

 private:
  [[nodiscard]] bool out() const noexcept;
  /// Runs a part of an acquisition; when memory runs out in it, nothing of it is left.
  template <class Work>
  void guarded(Acquisition& operation, Work work);
  [[nodiscard]] Decision try_for(const std::shared_ptr<Acquisition>& operation);
  void retry(Acquisition& operation, const Nap& nap, Woken woken);
  /// Completes it with what was decided, once the disk has it.
  void tell(Acquisition& operation, Decision decision);
  void conclude(Release& operation);
  [[nodiscard]] Decision forget(Recollection& operation);
  /// Looks whether files can be made and locked there.
  [[nodiscard]] Failure probe() const;
  /// Looks, and takes nothing. Empty = free.
  [[nodiscard]] Failure holder_of(const std::string& name, std::optional<Holder>& holder);
  void tell_losses() noexcept;
  void tell_losses(const Entries& entries);
  [[nodiscard]] Entries& entries_of(Mode mode) noexcept {
    if (mode == Mode::once) return keys_;
    return mode == Mode::permit ? semaphores_ : locks_;
  }

  const Directory directory_;
  const Sleeping sleeping_;
  const std::uint32_t generation_;
  NumberFloor floor_;
  Entries locks_;
  Entries semaphores_;
  Entries keys_;
  Sweep sweep_;
  Watch watch_;
  Host* host_ = nullptr;
  std::atomic<bool> stopped_{false};
};

}  // namespace mortise::file
