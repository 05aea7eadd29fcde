// SPDX-License-Identifier: MIT
// What the memory server remembers of its keys, and for how long. Who holds a key is the store's
// business.
#pragma once

#include <mortise/clock.hpp>
#include <mortise/operation.hpp>
#include <mortise/record.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace mortise::memory {

/// @thread_safety none: part of the store, under its mutex.
class Remembered {
 public:
  /// @return what is remembered of the key, `held` aside; null: nothing
  [[nodiscard]] std::shared_ptr<const Record> find(const std::string& key) const;
  /// A run begins. @return its number
  std::uint64_t begin(const Acquisition::Request& request, std::uint64_t number, Instant now);
  /// The run of that hold ends.
  void conclude(const HoldId& hold, const Conclusion& conclusion, Instant now);
  /// @return whether it was that hold that wrote the outcome which is remembered.
  [[nodiscard]] bool concluded_by(const HoldId& hold) const;
  void forget(const std::string& key) { kept_.erase(key); }
  /// Forgets the key where its time is up.
  void expire(const std::string& key, Instant now);
  void forget_all() { kept_.clear(); }
  [[nodiscard]] std::size_t size() const noexcept { return kept_.size(); }

  /// Looks at a few keys, others each time.
  /// @return those of them whose time is up; they may be held still
  [[nodiscard]] std::vector<std::string> some_that_are_over(Instant now);

 private:
  struct Kept {
    std::shared_ptr<const Record> record;
    AttemptId runner{};
    Instant until{};
  };

  std::unordered_map<std::string, Kept> kept_;
  std::size_t looked_at_ = 0;  // the bucket
};

}  // namespace mortise::memory
