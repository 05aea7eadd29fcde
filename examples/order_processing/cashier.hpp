// SPDX-License-Identifier: MIT
// Charges orders, each once, whoever else tries at the same moment. This is the file to read for
// how keys with a memory and locks are used.
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

/// Who wants to know what happens in a charge.
struct Witness {
  /// The ledger has the charge, and the balance does not.
  std::function<void()> between;
  /// Charges of others were found half done, and completed.
  std::function<void(const std::vector<std::string>& orders)> completed;
};

/// @return whether the store has keys with a memory; a quorum of Redis has none.
[[nodiscard]] bool remembers(const mortise::Client& client);

/// One for each process. Thread-safe.
class Cashier {
 public:
  /// @param url of the store; empty = work without locks
  Cashier(std::filesystem::path directory, const std::string& url, Figures& figures);

  /// @return what became of it; `open`: to be started over
  [[nodiscard]] Outcome charge(const Submission& submission, const Witness& witness);

 private:
  [[nodiscard]] Outcome charge_once(const Submission& submission, const Witness& witness);
  [[nodiscard]] Outcome charge_and_look(const Submission& submission, const Witness& witness);
  [[nodiscard]] Outcome book(const Submission& submission, bool look, const Witness& witness);
  [[nodiscard]] mortise::Guard take(const std::string& name);
  void note_wait(std::int64_t took);

  const std::filesystem::path directory_;
  const std::string orders_;  // what the names of keys and locks of orders begin with
  Figures& figures_;
  std::optional<mortise::Client> client_;  // none = the run without locks
  bool remembers_ = false;                 // the store has keys with a memory, see remembers()
};

}  // namespace shop
