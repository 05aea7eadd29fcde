// SPDX-License-Identifier: MIT
// Which schema of which database a hold is in, as `Backend::identity()` says it.
#pragma once

#include "postgres/lineage.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace mortise::postgres {

struct Home {
  Whereabouts place{};  ///< the timeline does not count
  std::string schema{};

  /// @return "postgresql 7301234/16384/mortise"; zeros: the server does not tell.
  [[nodiscard]] std::string text() const;
  /// @return nothing: the identity is none of ours.
  [[nodiscard]] static std::optional<Home> of(std::string_view identity);
};

/// @return whether the holds of that identity are in PostgreSQL, wherever there.
[[nodiscard]] bool is_postgresql(std::string_view identity) noexcept;

}  // namespace mortise::postgres
