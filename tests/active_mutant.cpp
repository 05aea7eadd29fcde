// SPDX-License-Identifier: MIT
// Part of every test program: MORTISE_MUTANT=redis.push_by_attempt has the library make that
// mistake from the start, so that one can see which test finds it (tests/mutants.py). A name that
// does not exist ends the program, because a mistake that is not made is found by no test.
#include "base/mutant.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

[[noreturn]] void refuse(std::string_view mutant, const char* why) {
  std::fprintf(stderr, "MORTISE_MUTANT=%.*s: %s\n", static_cast<int>(mutant.size()), mutant.data(),
               why);
  std::_Exit(EXIT_FAILURE);
}

bool activate() {
  const char* const text = std::getenv("MORTISE_MUTANT");
  if (text == nullptr || *text == '\0') return false;
  const std::string_view mutant(text);
#ifdef MORTISE_MUTANTS
  constexpr std::array all{
#include "mutant_names.inc"
  };
  const auto* const found = std::find(all.begin(), all.end(), mutant);
  if (found == all.end()) refuse(mutant, "the library has no such mutant");
  mortise::base::active_mutant = *found;
  return true;
#else
  refuse(mutant, "this library is built without mutants (MORTISE_MUTANTS)");
#endif
}

[[maybe_unused]] const bool is_active = activate();

}  // namespace
