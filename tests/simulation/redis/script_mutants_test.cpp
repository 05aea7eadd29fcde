// SPDX-License-Identifier: MIT
// Each mutant fits the scripts as they are, changes those that it names, and is still Lua.
#include "simulation/redis/script_mutants.hpp"

#include "redis/store/scripts.hpp"
#include "redlock/scripts.hpp"
#include "simulation/redis/script_files.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <lua.hpp>
#include <memory>
#include <set>

namespace simulation::redis {
namespace {

namespace shipped = mortise::redis::scripts;
namespace shipped_redlock = mortise::redlock::scripts;

std::array<mortise::redis::Script, 21> all_scripts() {
  return {shipped::acquire,
          shipped::cancel,
          shipped::force_release,
          shipped::inspect,
          shipped::release,
          shipped::renew,
          shipped::list,
          shipped::queue,
          shipped::ask,
          shipped::once::force_release,
          shipped::once::queue,
          shipped::once::begin,
          shipped::once::cancel,
          shipped::once::conclude,
          shipped::once::recall,
          shipped_redlock::acquire,
          shipped_redlock::inspect,
          shipped_redlock::release,
          shipped_redlock::renew,
          shipped_redlock::settle,
          shipped_redlock::share};
}

TEST(ScriptMutants, EachChangesAScriptAndLeavesItLua) {
  const std::unique_ptr<lua_State, decltype(&lua_close)> lua(luaL_newstate(), &lua_close);
  for (const ScriptMutant& mutant : script_mutants()) {
    int changed = 0;
    for (const mortise::redis::Script& script : all_scripts()) {
      const std::string text = with_mistake(script.text, mutant.name);  // throws if it does not fit
      if (text == script.text) continue;
      ++changed;
      EXPECT_EQ(luaL_loadbuffer(lua.get(), text.data(), text.size(), "@user_script"), 0)
          << mutant.name << ": " << lua_tostring(lua.get(), -1);
      lua_settop(lua.get(), 0);
    }
    EXPECT_GT(changed, 0) << mutant.name;
  }
}

TEST(ScriptMutants, EachRowFitsItsFileOnce) {
  for (const ScriptMutant& mutant : script_mutants()) {
    bool known = false;
    for (const ScriptFile& file : script_files()) {
      if (file.name != mutant.file) continue;
      known = true;
      const std::size_t at = file.text.find(mutant.find);
      EXPECT_NE(at, std::string_view::npos) << mutant.name << ": " << mutant.find;
      EXPECT_EQ(file.text.find(mutant.find, at + 1), std::string_view::npos) << mutant.name;
    }
    EXPECT_TRUE(known) << mutant.name << " names no script file: " << mutant.file;
    EXPECT_NE(mutant.find, mutant.replace) << mutant.name;
    EXPECT_THAT(mutant.sentence, testing::EndsWith(".")) << mutant.name;
  }
}

TEST(ScriptMutants, OneOfAnotherKindChangesNothing) {
  for (const mortise::redis::Script& script : all_scripts()) {
    EXPECT_EQ(with_mistake(script.text, "redis.no_such_mistake"), script.text);
    EXPECT_EQ(with_mistake(script.text, ""), script.text);
  }
}

TEST(ScriptMutants, EveryScriptIsAKnownFile) {
  for (const mortise::redis::Script& script : all_scripts()) {
    const auto files = script_files();
    EXPECT_TRUE(std::any_of(files.begin(), files.end(), [&](const ScriptFile& file) {
      return file.text == script.text && file.sha == script.sha;
    })) << script.name;
  }
}

}  // namespace
}  // namespace simulation::redis
