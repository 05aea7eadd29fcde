// SPDX-License-Identifier: MIT
// Removes expired records of keys. Each client that begins a run removes a few, shelf by shelf.
#pragma once

#include "zookeeper/kept.hpp"
#include "zookeeper/parts.hpp"
#include "zookeeper/queue.hpp"
#include "zookeeper/session.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::zookeeper {

class Tidying {
 public:
  explicit Tidying(Parts& parts) noexcept : parts_(parts) {}

  /// One step, behind the requests that a run sends anyway: a list of the records on a shelf, or a
  /// look at some of them, and the removal of those that have expired.
  void step(Session& session);

 private:
  void list_a_shelf(Session& session);
  void look_at_records(Session& session);
  void listed(Session& session, const Reply& reply);
  void looked(const Session& session, const std::string& record, const Reply& reply);
  void remove_expired(Session& session, const Children& queue);
  [[nodiscard]] Calls::Answer answer(std::function<void(const Reply&)> heed);
  void count(bool is_sent) { under_way_ += is_sent ? 1U : 0U; }

  Parts& parts_;
  std::size_t next_ = 0;                    // shelf
  std::string shelf_{};                     // the present one
  std::vector<std::string> records_{};      // on it, and to be looked at
  std::optional<std::int32_t> removals_{};  // from it, before its records were read
  std::vector<std::pair<std::string, Memo>> expired_{};
  int empty_shelves_ = 0;      // in a row
  std::size_t under_way_ = 0;  // requests
};

}  // namespace mortise::zookeeper
