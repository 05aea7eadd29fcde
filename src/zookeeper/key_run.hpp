// SPDX-License-Identifier: MIT
// The record of a key as an attempt has read it, and how a run begins and ends by it.
#pragma once

#include "zookeeper/kept.hpp"
#include "zookeeper/queue_course.hpp"

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace mortise::zookeeper {

/// An attempt for a key, with the record as it was last read.
class RunCourse : public QueueCourse {
 public:
  using QueueCourse::QueueCourse;

  [[nodiscard]] const Memory& memory() const noexcept { return *memory_; }
  /// @return the record as last read.
  [[nodiscard]] const Memo& memo() const noexcept { return memo_; }
  [[nodiscard]] LeadersTime leaders_time() const {
    return session().leaders_clock().time(parts().now());
  }
  /// @return the beginning of its node's name, which the record of its run has.
  [[nodiscard]] std::string_view guid() { return node().guid().substr(0, guid_size); }
  /// The record is out of date.
  void recall_again() noexcept { is_recalled_ = false; }
  /// The record behind a request to begin.
  virtual void begun(const Reply& reply) = 0;

 protected:
  /// @return false: it is not known. The attempt may have failed
  [[nodiscard]] bool read_record(const Reply& reply);
  [[nodiscard]] bool is_runner() { return memo_.pending() && memo_.kept.runner == guid(); }
  [[nodiscard]] bool is_recalled() const noexcept { return is_recalled_; }
  void set_recalled() noexcept { is_recalled_ = true; }
  /// @param removals from the shelf, before the record was read
  void set_removals(std::int32_t removals) noexcept { memo_.removals = removals; }

 private:
  const std::shared_ptr<const Memory> memory_ = operation()->request().memory;
  Memo memo_{};
  bool is_recalled_ = false;
};

/// How a run begins: the client writes itself into the record, over the version that it has read.
/// At that version no client ran the key, and no client can begin without a new version. The same
/// transaction checks its own node, so that no session begins a run that has ended; and the shelf,
/// whose data each removal writes, because a record that was removed and made again has the
/// versions of the record before it.
class RunBegin {
 public:
  explicit RunBegin(RunCourse& course) noexcept : course_(course) {}

  /// There is no record, so no client runs the key: makes the node and the record together. If
  /// another client does so at once, that request fails.
  void make_both();
  /// Its node is there, and its turn has come.
  void write();
  [[nodiscard]] bool is_under_way() const noexcept { return is_under_way_; }
  void forget() noexcept { is_under_way_ = false; }

 private:
  [[nodiscard]] Request record() const;
  void look_at_record();
  void made_both(const Reply& reply);
  void written(const Reply& reply);
  void pause();

  RunCourse& course_;
  bool is_under_way_ = false;
};

/// How a run ends: one transaction writes its outcome and removes its node. The transaction fails
/// if the node has gone, for example with its session, or if another run has begun since. The
/// record names its writer, so a client that receives no answer finds its own outcome.
class OutcomeWriter {
 public:
  explicit OutcomeWriter(Course& course) noexcept : course_(course) {}

  /// The run has begun. @param version of its record
  void set_version(std::int32_t version) noexcept { version_ = version; }
  void set(std::shared_ptr<const Conclusion> conclusion) noexcept {
    conclusion_ = std::move(conclusion);
  }
  [[nodiscard]] bool has_outcome() const noexcept { return conclusion_ != nullptr; }
  void write();

 private:
  void written(const Reply& reply);
  void look();
  void found(const Reply& reply);
  void give_up();
  /// The node may still be there.
  void drop();

  Course& course_;
  std::shared_ptr<const Conclusion> conclusion_{};
  std::int32_t version_ = 0;
  int tries_ = 0;
  Instant first_try_{};
};

}  // namespace mortise::zookeeper
