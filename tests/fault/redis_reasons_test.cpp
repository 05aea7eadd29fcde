// SPDX-License-Identifier: MIT
// Goal: an observer learns why renewals and releases fail, in the server's words, and not ten times
// a second. Method: a server that is made to refuse a client that holds a lock.
#include "fault/redis_fixture.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace mortise::fault {
namespace {

using ::testing::AllOf;

constexpr std::chrono::milliseconds lease = 2'500ms;

class RedisReasons : public RedisTest {
 protected:
  void hold(const std::string& url) {
    client_.emplace(url, ClientOptions{.observer = record_});
    lock_.emplace(client_->make_lock("a", {.lease = lease}));
    lock_->lock();
  }
  void cut() { server().talk().expect_ok({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"}); }
  /// The hold is lost, and the observer was told of this reason before and then.
  void expect_reason(Errc code, const std::string& words) {
    ASSERT_TRUE(record_->told(Record::Kind::lost, 1));
    const std::vector<Record::Entry> failed = record_->all(Record::Kind::failed);
    const bool told = std::any_of(failed.begin(), failed.end(), [&](const Record::Entry& each) {
      return each.why.code == code && each.why.text.find(words) != std::string::npos;
    });
    EXPECT_TRUE(told) << (failed.empty() ? "nothing has failed" : failed.back().why.text);
    const Failure lost = record_->all(Record::Kind::lost).front().why;
    EXPECT_EQ(lost.code, Errc::lost);
    EXPECT_THAT(lost.text, AllOf(HasSubstr("the lease ran out"), HasSubstr(words)));
    // Once a second, and once more for each kind of failure on the way.
    EXPECT_LE(failed.size(), static_cast<std::size_t>(lease / 1s) + 3);
  }
  /// What a release is told to have failed with.
  Failure failure_of_release() {
    EXPECT_EQ(lock_->release(), Released::unknown);
    EXPECT_TRUE(record_->told(Record::Kind::failed, 1));
    return record_->all(Record::Kind::failed).back().why;
  }

  const std::shared_ptr<Record> record_ = std::make_shared<Record>();
  std::optional<Client> client_;
  std::optional<Lock> lock_;
};

TEST_F(RedisReasons, AChangedPasswordIsTold) {
  RedisServerOptions options;
  options.password = "before";
  hold("redis://:before@127.0.0.1:" + std::to_string(server(options).port()));
  server().talk().expect_ok({"CONFIG", "SET", "requirepass", "afterwards"});
  cut();
  expect_reason(Errc::denied, "WRONGPASS");
  for (const Record::Entry& each : record_->all(Record::Kind::failed)) {
    EXPECT_THAT(each.why.text, Not(HasSubstr("before")));
  }
}

TEST_F(RedisReasons, ADemotedMasterIsTold) {
  hold(server().url());
  server().talk().expect_ok({"REPLICAOF", "127.0.0.1", "1"});
  expect_reason(Errc::unavailable, "not a master");
}

TEST_F(RedisReasons, AServerThatIsGoneIsTold) {
  hold(server().url());
  server().kill();
  expect_reason(Errc::unavailable, "refused");
}

// Its last snapshot has failed.
TEST_F(RedisReasons, AReleaseThatMeetsMisconfSaysSo) {
  RedisServerOptions options;
  options.lines = {"save 3600 1", "dbfilename folder.rdb", "stop-writes-on-bgsave-error yes"};
  RedisTalk talk = server(options).talk();
  hold(server().url());
  const std::string folder = talk.command({"CONFIG", "GET", "dir"}).items.at(1).text;
  ASSERT_EQ(::mkdir((folder + "/folder.rdb").c_str(), 0700), 0);
  talk.expect_ok({"BGSAVE"});
  ASSERT_TRUE(eventually([&] {
    return talk.command({"INFO", "persistence"}).text.find("rdb_last_bgsave_status:err") !=
           std::string::npos;
  }));
  const Failure why = failure_of_release();
  EXPECT_THAT(why.text, HasSubstr("MISCONF"));
  EXPECT_EQ(::rmdir((folder + "/folder.rdb").c_str()), 0);
}

TEST_F(RedisReasons, AReleaseThatMeetsABusyScriptSaysSo) {
  hold(server().url());
  RedisTalk talk = server().talk();
  talk.expect_ok({"CONFIG", "SET", "lua-time-limit", "1"});
  Worker script;
  auto ended = script.start([this] {
    return server().talk().command({"EVAL", "while true do end", "0"}).is_error();
  });
  ASSERT_TRUE(eventually([&] { return talk.command({"PING"}).text.find("BUSY") == 0; }));
  const Failure why = failure_of_release();
  EXPECT_THAT(why.text, HasSubstr("BUSY"));
  talk.expect_ok({"SCRIPT", "KILL"});
  EXPECT_TRUE(ended.get());
}

}  // namespace
}  // namespace mortise::fault
