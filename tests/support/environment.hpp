// SPDX-License-Identifier: MIT
// Variables of the environment for the length of a test, while no other thread reads them.
#pragma once

#include <cstdlib>
#include <map>
#include <optional>
#include <string>

namespace mortise::test {

/// Puts everything back when it ends.
class Environment {
 public:
  Environment() = default;
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() {
    for (const auto& [name, value] : before_) {
      value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str());
    }
  }

  void set(const std::string& name, const std::string& value) {
    remember(name);
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  void unset(const std::string& name) {
    remember(name);
    ::unsetenv(name.c_str());
  }

 private:
  void remember(const std::string& name) {
    const char* const value = std::getenv(name.c_str());
    before_.emplace(name, value != nullptr ? std::optional<std::string>(value) : std::nullopt);
  }

  std::map<std::string, std::optional<std::string>> before_;
};

}  // namespace mortise::test
