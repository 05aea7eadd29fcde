// SPDX-License-Identifier: MIT
// The server's log on its way to the disk and to a standby: what a crash or a fail-over keeps.
// Commits that come while one flush is under way share the next one.
#pragma once

#include "simulation/postgres/options.hpp"
#include "simulation/postgres/process.hpp"
#include "simulation/postgres/rows.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace simulation::postgres {

/// A place in the log: the number of the commit that ends there.
using Place = std::uint64_t;

/// What one commit has written, as it was afterwards.
struct LogRecord {
  std::vector<LockRow> locks{};
  std::vector<std::string> locks_gone{};
  std::vector<TicketRow> tickets{};
  std::vector<std::pair<std::string, std::int64_t>> tickets_gone{};
  std::vector<KeyRow> keys{};
  std::vector<std::string> keys_gone{};
  std::int64_t last_ticket = 0;

  /// @param gone it was deleted
  void add(const LockRow& row, bool gone);
  void add(const TicketRow& row, bool gone);
  void add(const KeyRow& row, bool gone);
};

/// Tables as they are on a disk.
struct Image {
  std::map<std::string, LockRow, std::less<>> locks{};
  std::map<std::pair<std::string, std::int64_t>, TicketRow> tickets{};
  std::map<std::string, KeyRow, std::less<>> keys{};
  std::int64_t last_ticket = 0;
  void apply(const LogRecord& record);
};

class Disk {
 public:
  Disk(Site& site, Scheduler& scheduler, const Options& options)
      : site_(site),
        scheduler_(scheduler),
        options_(options),
        has_standby_(options.standby != Standby::none) {}

  Place append(LogRecord record);
  /// Begins a flush, for somebody who will wait for it; or soon, where nobody does.
  void want(Place place);
  void want_later();
  [[nodiscard]] bool on_disk(Place place) const noexcept { return flushed_ >= place; }
  [[nodiscard]] bool on_standby(Place place) const noexcept { return shipped_ >= place; }
  /// To be woken at each step of the disk, and of the standby.
  void add_waiter(const Process& process) { waiters_.push_back(process.id()); }
  void remove_waiter(const Process& process) { std::erase(waiters_, process.id()); }

  /// The server died: what had not reached the disk is lost, or a part of it from the end on.
  Image after_crash();
  /// @return what a crash would leave at least, and
  [[nodiscard]] const Image& after_a_crash() const noexcept { return disk_; }
  /// ... what a standby has that takes over.
  [[nodiscard]] const Image& at_standby() const noexcept { return standby_; }
  void start(const Image& from);  ///< after either of them, or empty

  // Faults.
  void stall(Nanos time) { stall_ += time; }  ///< the next flush takes so much longer
  void end_stall();                           ///< ... and so does the one under way no more
  void set_standby_gone(bool gone);
  /// From now on there is no standby, and none is waited for.
  void stand_alone();
  [[nodiscard]] bool has_standby() const noexcept { return has_standby_; }
  [[nodiscard]] std::uint64_t flushes() const noexcept { return flushes_; }

 private:
  void flush();
  void flush_until(Nanos time);
  void flushed();
  [[nodiscard]] Nanos usual_time();
  void ship();
  void forget_old();
  void wake_all();

  Site& site_;
  Scheduler& scheduler_;
  const Options& options_;
  std::deque<LogRecord> log_;  // begins behind `kept_`
  Place kept_ = 0;
  Place end_ = 0;
  Place flushed_ = 0;
  Place shipped_ = 0;
  bool flushing_ = false;
  bool later_ = false;
  bool shipping_ = false;
  bool has_standby_;
  bool standby_gone_ = false;
  Nanos stall_{};
  bool stalled_ = false;        // the flush that is under way
  std::uint64_t flush_id_ = 0;  // of that one
  Place flushing_to_ = 0;
  std::uint64_t flushes_ = 0;
  std::deque<std::uint64_t> waiters_;
  Image disk_;
  Image standby_;
};

}  // namespace simulation::postgres
