// SPDX-License-Identifier: MIT
// The commands and their options, as CLI11 reads them. Completions (mortise.bash, mortise.zsh,
// mortise.fish) list the same options; a test compares them with `--help`.
#pragma once

#include "order.hpp"
#include "store_url.hpp"

#include <CLI/CLI.hpp>
#include <string_view>

namespace mortise::tool {

/// The options that an `Order` does not keep.
struct Flags {
  StoreUrl store{};
  bool try_only = false;
  bool escaped = false;
  bool force = false;
};

/// @return whether the command runs a program, which follows "--".
[[nodiscard]] bool takes_program(std::string_view verb) noexcept;

/// Adds every command. Parsing writes into `order` and `flags`, which outlive `app`.
void add_commands(CLI::App& app, Order& order, Flags& flags);

}  // namespace mortise::tool
