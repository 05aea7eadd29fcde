// SPDX-License-Identifier: MIT
// The board keeps the contract. The suite is the library's own, from `find_package(mortise
// COMPONENTS contract)`. It needs to know how to make a new board and what the backend promises,
// and tests only these promises.
#include "board.hpp"

#include <memory>
#include <mortise_contract.hpp>
#include <string>

namespace {

// [store]
class BoardStore final : public mortise::contract::Store {
 public:
  std::unique_ptr<mortise::Backend> backend() override {
    return std::make_unique<own::BoardBackend>(board_);
  }
  void take_away(const std::string& name) override { board_->wipe(name); }

 private:
  std::shared_ptr<own::Board> board_ = std::make_shared<own::Board>();
};

mortise::contract::BackendUnderTest board() {
  using mortise::contract::Hook;
  using mortise::contract::Quality;
  return {.name = "board",
          .open = [](const auto& /*clock*/) { return std::make_unique<BoardStore>(); },
          .hooks = {Hook::take_away},
          .qualities = {Quality::fair, Quality::one_wake}};
}

MORTISE_CONTRACT(Board, board());
// [/store]

}  // namespace
