// SPDX-License-Identifier: MIT
// The backend of a store of mortise::remote whose connection breaks, and then the next allocation
// of the thread that reads fails; the one behind it in the next round, until there is none. In each
// round a repeated request is answered, no freed hold is reported as lost, and no hold stays
// without an owner. Exit status: 0 = all that; 77 = allocations cannot be made to fail here.
#include <mortise/remote/backend.hpp>

#include "fault/like_lines.hpp"
#include "support/shortage.hpp"

#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace {

using mortise::test::ShortageRound;
using mortise::test::ShortageUser;

/// No allocation fails as long as it lives.
class WithMemory {
 public:
  WithMemory() : left_(std::exchange(mortise::test::until_failure, 0)) {}
  WithMemory(const WithMemory&) = delete;
  WithMemory& operator=(const WithMemory&) = delete;
  ~WithMemory() { mortise::test::until_failure = left_; }

 private:
  const long left_;
};

/// The streams of the example take a failed allocation for a line that makes no sense.
class ReadsWithMemory final : public mortise::fault::LikeLines {
 public:
  [[nodiscard]] std::optional<mortise::remote::Message> read(
      std::string_view& bytes) const override {
    const WithMemory memory;
    return LikeLines::read(bytes);
  }
};

}  // namespace

// @param arguments the server's port; one of so many allocations fails
int main(int count, char** arguments) {
  if (count != 3) return 100;
  if (!mortise::test::allocations_fail_when_told()) return 77;
  try {
    const std::string address = std::string("127.0.0.1:") + arguments[1];
    const long step = std::stol(arguments[2]);
    const auto play = [&](const char* words, const auto& scene) {
      mortise::test::play_each_shortage(
          [&](ShortageRound round) {
            ShortageUser user(
                words, round,
                mortise::remote::backend(address, std::make_unique<ReadsWithMemory>()));
            return scene(user);
          },
          2, step);
    };
    play("the connection comes back", mortise::test::connection_comes_back);
    play("a caller's cancel is lost", mortise::test::callers_cancel_is_lost);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 102;
  }
}
