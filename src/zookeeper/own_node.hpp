// SPDX-License-Identifier: MIT
// The node of one attempt, from the first request for it until it is proven gone. If the answer to
// a request was lost, a list in sync with the leader shows whether the node is there.
#pragma once

#include <mortise/operation.hpp>

#include "zookeeper/request.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace mortise::zookeeper {

class Course;

class OwnNode {
 public:
  explicit OwnNode(Course& course);

  /// @return its path; empty = it is not known to be there.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] bool is_there() const noexcept { return !path_.empty(); }
  /// @return its name in the queue; there must be one.
  [[nodiscard]] std::string_view name() const noexcept;
  /// @return the beginning of its path, which no other node has.
  [[nodiscard]] const std::string& prefix() const noexcept { return prefix_; }
  /// @return the same without the path of the queue.
  [[nodiscard]] std::string_view guid() const noexcept;
  /// @return the transaction that made it.
  [[nodiscard]] std::int64_t number() const noexcept { return number_; }
  /// @return true if it was asked for, and may be there or not.
  [[nodiscard]] bool is_unsure() const noexcept { return is_unsure_; }
  [[nodiscard]] bool is_removing() const noexcept { return is_removing_; }
  /// @return true if its removal was sent, and the answer was lost.
  [[nodiscard]] bool may_be_removed() const noexcept { return may_be_removed_; }

  /// Asks for it, and lists the queue behind it.
  /// @param caller may be null
  void make(Acquisition* caller);
  /// The nodes above it are not known to be there.
  void make_parents();
  /// Looks for it, because it is not known whether it is there.
  void settle();
  void remove();
  /// It has gone, or goes with its session. The next node of the attempt has another guid, so that
  /// the two are never mixed up.
  void forget();
  /// A list of the queue follows: reads the node that keeps the name.
  void ask_for_name();
  /// @return true if the queue is that of the name.
  [[nodiscard]] bool is_queue_of_name() const noexcept;
  /// With the node its parent has to go, so that the counter of the queue begins again.
  void set_last_of_counter(bool is_last) noexcept { is_last_of_counter_ = is_last; }

  // For requests that make or remove it together with other nodes.
  void asked() noexcept { is_unsure_ = true; }
  /// @param path its future path
  /// @param number the number that it will have
  void asked(std::string path, std::int64_t number);
  void made(std::string_view path, std::int64_t number);
  void not_made() noexcept { is_unsure_ = false; }
  void removing(bool is_sent) noexcept { is_removing_ = is_sent; }
  void lost_removal() noexcept { may_be_removed_ = true; }
  /// A node above it is missing. @return false: it cannot be made, and the attempt has failed
  [[nodiscard]] bool lacks_parents();

 private:
  void make_levels(const std::string& path, bool while_needed, bool all);
  void made_parent(const Reply& reply);
  void created(const Reply& reply);
  void settled(const Reply& reply);
  void removed(const Reply& reply);

  Course& course_;
  std::uint32_t round_ = 0;
  std::string prefix_;
  std::string path_{};
  std::int64_t number_ = 0;
  std::int64_t given_number_ = 0;  // of the owner that continues as a reader by this node
  bool is_unsure_ = false;         // it was asked for, and may be there or not
  bool is_removing_ = false;
  bool may_be_removed_ = false;
  bool is_last_of_counter_ = false;
  bool is_queue_of_name_ = false;
  struct {
    bool are_missing = false;
    Failure failure{};  // why they could not be made
  } parents_;
};

}  // namespace mortise::zookeeper
