// SPDX-License-Identifier: MIT
#include "support/zookeeper_stranger.hpp"

#include "support/java.hpp"

#include <filesystem>
#include <utility>
#include <vector>

namespace mortise::test {
namespace {

constexpr const char* python = "/usr/bin/python3";  // Debian's, which has Debian's kazoo
constexpr const char* kazoo = "/usr/lib/python3/dist-packages/kazoo";
constexpr const char* curator = "/usr/share/java/curator-recipes.jar";

model::Process start(ZooKeeperLibrary library, std::vector<std::string> arguments) {
  if (library == ZooKeeperLibrary::kazoo) {
    arguments.insert(arguments.begin(), MORTISE_TESTS_DIR "/support/python/kazoo_worker.py");
    return model::Process::spawn(python, arguments);
  }
  const std::vector<std::string> begin{
      "-XX:TieredStopAtLevel=1",
      "-XX:+UseSerialGC",
      "-XX:-UsePerfData",
      "-Xmx64m",
      "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
      "-cp",
      std::string(MORTISE_BIN_DIR "/java:/usr/share/java/slf4j-simple.jar:") + curator,
      "CuratorWorker"};
  arguments.insert(arguments.begin(), begin.begin(), begin.end());
  return model::Process::spawn(java_program, arguments);
}

}  // namespace

std::string_view name_of(ZooKeeperLibrary library) noexcept {
  return library == ZooKeeperLibrary::curator ? "Curator" : "Kazoo";
}

std::string missing(ZooKeeperLibrary library) {
  const std::vector<std::string> needed =
      library == ZooKeeperLibrary::kazoo
          ? std::vector<std::string>{python, kazoo}
          : std::vector<std::string>{java_program, curator,
                                     MORTISE_BIN_DIR "/java/CuratorWorker.class"};
  for (const std::string& file : needed) {
    if (!std::filesystem::exists(file)) return file;
  }
  return {};
}

ZooKeeperStranger::ZooKeeperStranger(ZooKeeperLibrary library, const std::string& servers,
                                     const std::string& path, const std::string& kind,
                                     const std::string& patterns, std::chrono::milliseconds session)
    : Stranger(std::string(name_of(library)), [&](const std::string& meeting) {
        return start(library,
                     {meeting, servers, path, kind, patterns, std::to_string(session.count())});
      }) {}

}  // namespace mortise::test
