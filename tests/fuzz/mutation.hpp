// SPDX-License-Identifier: MIT
// Inputs that are nearly those of a corpus.
#pragma once

#include "model/dice.hpp"

#include <string>
#include <vector>

namespace mortise::fuzz {

/// @return one of the corpus, which is not empty, changed in one to eight places.
[[nodiscard]] std::string mutated(const std::vector<std::string>& corpus, model::Dice& dice);

}  // namespace mortise::fuzz
