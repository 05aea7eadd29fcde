// SPDX-License-Identifier: MIT
// Goal: one server of a quorum that is known by a host name is followed when that name moves,
// although the old server goes on. Method: a child process whose hosts are written by the test.
#include "fault/moved_name.hpp"
#include "fault/redlock_fixture.hpp"

namespace mortise::fault {
namespace {

class RedlockHostNames : public RedlockTest {};

TEST_F(RedlockHostNames, AMovedOneIsFollowedAlthoughTheOldServerGoesOn) {
  RedisServerOptions options;
  options.lines = {std::string("bind 127.0.0.1 ") + MovedName::old_address + ' ' +
                   MovedName::new_address};
  std::string url = servers(3, options).url();
  const std::string first = "127.0.0.1";
  url.replace(url.find(first), first.size(), MovedName::name);
  expect_to_follow(url, servers()[0].port());
}

}  // namespace
}  // namespace mortise::fault
