// SPDX-License-Identifier: MIT
// Charges each order once, even if several processes try at the same moment. Read this file first:
// it shows how Once and locks are used.
#pragma once

#include <mortise/mortise.hpp>

#include "board.hpp"
#include "submissions.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace shop {

/// Callbacks during a charge.
struct Witness {
  /// The ledger has the charge, and the balance does not.
  std::function<void()> between;
  /// Charges that an earlier holder began were completed.
  std::function<void(const std::vector<std::string>& orders)> completed;
};

/// @return whether the store has Once. `redlock:` does not have it.
[[nodiscard]] bool remembers(const mortise::Client& client);

/// One for each process. Thread-safe.
class Cashier {
 public:
  /// @param url of the store; empty = work without locks
  Cashier(std::filesystem::path directory, const std::string& url, Figures& figures);

  /// @return the outcome; `open`: try again
  [[nodiscard]] Outcome charge(const Submission& submission, const Witness& witness);

 private:
  [[nodiscard]] Outcome charge_once(const Submission& submission, const Witness& witness);
  [[nodiscard]] Outcome charge_and_look(const Submission& submission, const Witness& witness);
  [[nodiscard]] Outcome book(const Submission& submission, bool look, const Witness& witness);
  [[nodiscard]] mortise::Guard take(const std::string& name);
  void note_wait(std::int64_t took);

  const std::filesystem::path directory_;
  const std::string orders_;  // the beginning of the names of keys and locks of orders
  Figures& figures_;
  std::optional<mortise::Client> client_;  // none = the run without locks
  bool remembers_ = false;                 // see remembers()
};

}  // namespace shop
