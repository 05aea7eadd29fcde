// SPDX-License-Identifier: MIT
// Deliberate mistakes in the Lua scripts, which the simulation must find: as src/base/mutant.hpp
// for C++. The client sends the shipped text, and the model server runs the patched one in its
// place.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace simulation::redis {

/// One patch. A mutant may need several: rows of the same name.
struct ScriptMutant {
  std::string_view name;      ///< "redis.release_without_owner_check"
  std::string_view sentence;  ///< what it does wrong, and what that breaks
  std::string_view file;      ///< "redis/release.lua"
  std::string_view find;      ///< lines as the server gets them: no comments, no indentation
  std::string_view replace;
};

/// @return all of them, in the order of the table
[[nodiscard]] std::span<const ScriptMutant> script_mutants();

/// @param whole the text of a script as the client sends it
/// @param name of a mutant; one that is not in the table (of C++, of SQL) changes nothing
/// @return the script with the mistake in it, where one of its files has it; the same otherwise
/// @throws std::logic_error where what is to be replaced does not occur exactly once in its file
[[nodiscard]] std::string with_mistake(std::string_view whole, std::string_view name);

}  // namespace simulation::redis
