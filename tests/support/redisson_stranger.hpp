// SPDX-License-Identifier: MIT
// A process that locks by the real Redisson. Its archives are not Debian's: the build is told where
// they are (MORTISE_REDISSON_JARS, by `./dev interop --jars DIR`).
#pragma once

#include "support/stranger.hpp"

#include <chrono>
#include <string>

namespace mortise::test {

class RedissonStranger : public Stranger {
 public:
  /// @return what is not on this machine that it needs; empty: it is all there.
  [[nodiscard]] static std::string missing();

  /// @param url "redis://127.0.0.1:6379"
  /// @param lease how long the server keeps its lock without a renewal
  RedissonStranger(const std::string& url, const std::string& name,
                   std::chrono::milliseconds lease);
};

}  // namespace mortise::test
