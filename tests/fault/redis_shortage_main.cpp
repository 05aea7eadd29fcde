// SPDX-License-Identifier: MIT
// A backend whose connection breaks, or is refused, and then the next allocation of the thread that
// reads fails; the one behind it in the next round, until there is none. Whichever fails, what is
// asked for is answered when it is asked for again, as the library does, a hold that was freed is
// not told as lost, and nothing stays held for nobody. Exit status: 0 = all that; 77 = allocations
// cannot be made to fail here.
#include <mortise/redis.hpp>

#include "support/redis_fields.hpp"
#include "support/redis_talk.hpp"
#include "support/shortage.hpp"

#include <cstdint>
#include <cstdio>
#include <string>

namespace {

using mortise::test::RedisTalk;
using mortise::test::ShortageRound;
using mortise::test::ShortageUser;

void refuse_clients(RedisTalk& talk, bool refuse) {
  talk.expect_ok({"CONFIG", "SET", "requirepass", refuse ? "another" : ""});
}

/// The connection breaks, and then the server refuses the client: whoever asked is told so, and
/// what the server has granted meanwhile is nobody's.
/// @param at_once memory is short while it is refused; else once it is not any more
bool grant_is_nobodys(RedisTalk& talk, const std::string& url, ShortageRound round, bool at_once) {
  ShortageUser user(at_once ? "it is refused" : "it is not refused any more", round,
                    mortise::redis::backend(url));
  const auto first = user.take(user.name("first"));
  const auto wanted = user.ask(user.name("wanted"));
  user.host.lose_answers();
  if (talk.command({"HGET", "mortise:{" + user.name("wanted") + "}",
                    mortise::test::stored_field("owner")})
          .is_nil()) {
    user.fail("nothing is granted");
  }
  refuse_clients(talk, true);
  bool reached = false;
  if (at_once) {
    reached = user.run_short_of_memory();
    user.pass_a_second();
  }
  user.finish(
      *wanted, [&] { user.pass_a_second(); }, "nobody says that it is refused");
  refuse_clients(talk, false);
  if (!at_once) {
    user.pass_a_second();
    reached = user.run_short_of_memory();
  }
  user.pass_a_second();
  user.expect_free(user.name("wanted"));
  user.expect_released(user.free(*first));
  return reached;
}

}  // namespace

// @param arguments the server's port; one of so many allocations fails; parameters of the URL
int main(int count, char** arguments) {
  if (count != 3 && count != 4) return 100;
  if (!mortise::test::allocations_fail_when_told()) return 77;
  try {
    RedisTalk talk(static_cast<std::uint16_t>(std::stoi(arguments[1])));
    const long step = std::stol(arguments[2]);
    const std::string parameters = count == 4 ? arguments[3] : "";
    const std::string url = std::string("redis://127.0.0.1:") + arguments[1] + parameters;
    const auto play = [&](const auto& scene) { mortise::test::play_each_shortage(scene, 2, step); };
    play([&](ShortageRound round) {
      ShortageUser user("the connection comes back", round, mortise::redis::backend(url));
      return connection_comes_back(user);
    });
    // With replicas=n what a cancel finds granted is given back where replicas do not have it in
    // time, and the library cancels once more.
    if (parameters.empty()) {
      play([&](ShortageRound round) {
        ShortageUser user("a caller's cancel is lost", round, mortise::redis::backend(url));
        return callers_cancel_is_lost(user);
      });
    }
    for (const bool at_once : {false, true}) {
      play([&](ShortageRound round) { return grant_is_nobodys(talk, url, round, at_once); });
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 102;
  }
}
