// SPDX-License-Identifier: MIT
#include "support/redisson_stranger.hpp"

#include "support/java.hpp"

#include <filesystem>

namespace mortise::test {
namespace {

constexpr const char* redisson_jars = MORTISE_REDISSON_JARS;
constexpr const char* worker = MORTISE_BIN_DIR "/java/RedissonWorker.class";

}  // namespace

std::string RedissonStranger::missing() {
  if (*redisson_jars == '\0') return "Redisson (./dev interop --jars DIR)";
  for (const char* const file : {java_program, worker}) {
    if (!std::filesystem::exists(file)) return file;
  }
  return {};
}

RedissonStranger::RedissonStranger(const std::string& url, const std::string& name,
                                   std::chrono::milliseconds lease)
    : Stranger("Redisson", [&](const std::string& meeting) {
        return model::Process::spawn(
            java_program,
            {"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xmx128m", "-cp",
             std::string(MORTISE_BIN_DIR "/java:") + redisson_jars + "/*", "RedissonWorker",
             meeting, url, name, std::to_string(lease.count())});
      }) {}

}  // namespace mortise::test
