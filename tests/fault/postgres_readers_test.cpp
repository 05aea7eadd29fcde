// SPDX-License-Identifier: MIT
// Goal: a writer that waits for readers keeps others out as long as it waits, and no longer.
// Method: clients that wait without tickets, since the order of those is the server's own.
#include "fault/postgres_fixture.hpp"

#include <stop_token>
#include <string>

namespace mortise::fault {
namespace {

const LockOptions reading{.lease = 60s, .mode = Mode::shared};

class PostgresReaders : public PostgresTest {
 protected:
  /// @return whether somebody who draws no ticket waits to have a name alone.
  [[nodiscard]] bool keeps_readers_out(const std::string& name) {
    return see("select expires_at > clock_timestamp() from mortise.share"
               " where name = convert_to($1, 'UTF8') and attempt = ''",
               {name}) == "t";
  }
};

// Promise: L3
TEST_F(PostgresReaders, AWriterThatHasGivenUpKeepsNoReaderOut) {
  Client one = client();
  Client other = client();
  Client third = client();
  other.check(patience);
  third.check(patience);
  Lock first = one.make_lock("a", reading);
  ASSERT_TRUE(first.try_lock_for(patience));
  Lock lock = other.make_lock("a");
  Worker writer;
  std::error_code error;
  auto written = writer.start([&] { return lock.try_lock_for(1s, error); });
  ASSERT_TRUE(eventually([&] { return keeps_readers_out("a"); }));
  ASSERT_FALSE(written.get());
  EXPECT_FALSE(error) << error.message();
  Lock second = third.make_lock("a", reading);
  EXPECT_TRUE(taken_within(second, answer_time)) << "for a writer that does not wait any more";
}

// Promise: L2
TEST_F(PostgresReaders, WhoWaitsBehindAWriterIsToldThatItHasGivenUp) {
  Client one = client();
  Lock first = one.make_lock("a", reading);
  ASSERT_TRUE(first.try_lock_for(patience));
  Client other = client();
  Lock lock = other.make_lock("a");
  std::stop_source stop;
  Worker writer;
  auto written = writer.start([&] { return lock.acquire({.stop = stop.get_token()}); });
  ASSERT_TRUE(eventually([&] { return keeps_readers_out("a"); }));
  Party behind(client(), "a", reading);
  auto read = behind.start();
  EXPECT_FALSE(comes_within(read, answer_time)) << "the writer starves";
  stop.request_stop();
  EXPECT_FALSE(written.get());
  EXPECT_TRUE(comes(read, answer_time));
}

// Promise: L5
TEST_F(PostgresReaders, OfTwoWritersOneGoesOnKeepingReadersOut) {
  Client one = client();
  Lock first = one.make_lock("a", reading);
  ASSERT_TRUE(first.try_lock_for(patience));
  Party staying(client(), "a");
  auto written = staying.start();
  ASSERT_TRUE(eventually([&] { return keeps_readers_out("a"); }));
  Client other = client();
  other.check(patience);
  ASSERT_FALSE(other.make_lock("a").try_lock_for(answer_time));
  EXPECT_TRUE(eventually([&] { return keeps_readers_out("a"); }));
  Client third = client();
  third.check(patience);
  Lock second = third.make_lock("a", reading);
  EXPECT_FALSE(second.try_lock_for(answer_time)) << "the other writer starves";
  EXPECT_EQ(first.release(), Released::released);
  ASSERT_TRUE(comes(written));
  EXPECT_EQ(staying.release(), Released::released);
}

}  // namespace
}  // namespace mortise::fault
