// SPDX-License-Identifier: MIT
// Goal: tests can trust the private redis-server and the client that they are built on. Method:
// start, kill, stop and restart real servers, and look at what is left in them.
#include "model/process.hpp"
#include "support/certificates.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"
#include "support/redis_talk.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <stdexcept>
#include <string>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

class RedisServerTest : public testing::Test {
 protected:
  void SetUp() override { MORTISE_NEEDS_REDIS_SERVER(); }
};

RedisServer::Options keeping() {
  RedisServer::Options options;
  options.persistence = RedisServer::Options::Persistence::always;
  return options;
}

TEST_F(RedisServerTest, AnswersOnItsPortAndOnItsSocket) {
  const RedisServer server;
  RedisTalk talk(server.port());
  EXPECT_EQ(talk.command({"PING"}).text, "PONG");
  EXPECT_EQ(talk.info("server").at("process_id"), std::to_string(server.pid()));
  EXPECT_EQ(server.url(), "redis://127.0.0.1:" + std::to_string(server.port()));
  struct stat status {};
  ASSERT_EQ(::stat(server.socket_path().c_str(), &status), 0);
  EXPECT_TRUE(S_ISSOCK(status.st_mode));
  EXPECT_LT(server.socket_path().size(), sizeof(sockaddr_un::sun_path));
}

TEST_F(RedisServerTest, TwoOfThemAreStrangers) {
  const RedisServer one;
  const RedisServer other;
  ASSERT_NE(one.port(), other.port());
  RedisTalk(one.port()).expect_ok({"SET", "key", "1"});
  EXPECT_TRUE(RedisTalk(other.port()).command({"GET", "key"}).is_nil());
}

TEST_F(RedisServerTest, AKilledServerForgetsAndComesBackOnItsPort) {
  RedisServer server;
  const std::uint16_t port = server.port();
  const pid_t pid = server.pid();
  RedisTalk talk(port);
  talk.expect_ok({"SET", "key", "1"});
  server.kill();
  EXPECT_EQ(::kill(pid, 0), -1);
  EXPECT_THROW(talk.command({"PING"}), RedisTalkError);  // and no SIGPIPE
  EXPECT_THROW(talk.command({"PING"}), RedisTalkError);
  EXPECT_THROW(RedisTalk{port}, RedisTalkError);
  server.start();
  EXPECT_EQ(server.port(), port);
  EXPECT_TRUE(RedisTalk(port).command({"GET", "key"}).is_nil());
  EXPECT_THROW(server.start(), std::logic_error);
}

TEST_F(RedisServerTest, AKeepingServerRemembers) {
  RedisServer server(keeping());
  RedisTalk(server.port()).expect_ok({"SET", "killed", "1"});
  server.kill();
  server.start();
  RedisTalk(server.port()).expect_ok({"SET", "shut down", "2"});
  server.restart();
  RedisTalk talk(server.port());
  EXPECT_EQ(talk.command({"GET", "killed"}).text, "1");
  EXPECT_EQ(talk.command({"GET", "shut down"}).text, "2");
}

TEST_F(RedisServerTest, AStoppedServerIsSilentUntilItGoesOn) {
  RedisServer server;
  RedisTalk talk(server.port());
  server.stop();
  talk.send({"PING"});
  EXPECT_FALSE(talk.receive(50ms));
  server.resume();
  const auto answer = talk.receive(patience);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->text, "PONG");
  server.stop();
  server.restart();
  EXPECT_EQ(RedisTalk(server.port()).command({"PING"}).text, "PONG");
}

TEST_F(RedisServerTest, UsersAndPasswordsHoldAndTheTestStillSees) {
  RedisServer::Options options;
  options.password = "sesame";
  options.users = {"reader on >open ~app:* -@all +get"};
  const RedisServer server(options);
  EXPECT_TRUE(RedisTalk(server.port()).command({"PING"}).text.starts_with("NOAUTH"));
  EXPECT_EQ(RedisTalk(server.port(), {}, "sesame").command({"PING"}).text, "PONG");
  EXPECT_THROW(RedisTalk(server.port(), "reader", "wrong"), RedisTalkError);
  RedisTalk reader(server.port(), "reader", "open");
  EXPECT_TRUE(reader.command({"GET", "app:1"}).is_nil());
  EXPECT_TRUE(reader.command({"GET", "other"}).text.starts_with("NOPERM"));
  EXPECT_EQ(server.talk().expect_ok({"SET", "app:1", "x"}).text, "OK");
}

// Whether the server answers over TLS, as another program sees it.
bool answers_encrypted(const RedisServer& server, const Certificates& certificates,
                       const std::string& more) {
  const std::string script =
      "printf 'PING\\r\\nQUIT\\r\\n' | openssl s_client -quiet -verify_return_error "
      "-verify_ip 127.0.0.1 -CAfile " +
      certificates.ca() + " -connect 127.0.0.1:" + std::to_string(server.tls_port()) + more +
      " 2>/dev/null | grep -q PONG";
  model::Process shell = model::Process::spawn("/bin/sh", {"-c", script});
  const auto exit = shell.wait_for(patience);
  return exit && !exit->killed() && exit->code == 0;
}

TEST_F(RedisServerTest, SpeaksTlsBesideItsPlainPort) {
  const Certificates certificates;
  const std::string client =
      " -cert " + certificates.client_certificate() + " -key " + certificates.client_key();
  RedisServer::Options options;
  options.certificates = &certificates;
  options.tls = RedisServer::Options::Tls::server_certificate;
  RedisServer one(options);
  EXPECT_TRUE(answers_encrypted(one, certificates, ""));
  EXPECT_EQ(one.tls_url(), "rediss://127.0.0.1:" + std::to_string(one.tls_port()));
  const Certificates others;
  EXPECT_FALSE(answers_encrypted(one, others, ""));
  one.restart();
  EXPECT_TRUE(answers_encrypted(one, certificates, ""));
  options.tls = RedisServer::Options::Tls::client_certificate_too;
  const RedisServer strict(options);
  EXPECT_FALSE(answers_encrypted(strict, certificates, ""));
  EXPECT_TRUE(answers_encrypted(strict, certificates, client));
  EXPECT_EQ(RedisTalk(strict.port()).command({"PING"}).text, "PONG");
  options.certificates = nullptr;
  EXPECT_THROW(RedisServer{options}, std::invalid_argument);
}

TEST_F(RedisServerTest, FurtherLinesWin) {
  RedisServer::Options options;
  options.lines = {"maxmemory 1", "databases 3"};
  const RedisServer server(options);
  RedisTalk talk = server.talk();
  EXPECT_TRUE(talk.command({"SET", "key", "1"}).text.starts_with("OOM"));
  EXPECT_TRUE(talk.command({"SELECT", "3"}).is_error());
}

TEST_F(RedisServerTest, AServerThatCanNotStartSaysWhy) {
  RedisServer::Options options;
  options.lines = {"loadmodule /nonexistent/module.so"};
  try {
    const RedisServer server(options);
    FAIL() << "it has started";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("/nonexistent/module.so"), std::string::npos)
        << error.what();
  }
}

TEST_F(RedisServerTest, TheFiguresAreCounted) {
  const RedisServer server;
  RedisTalk talk(server.port());
  talk.expect_ok({"CLIENT", "SETNAME", "counter"});
  talk.expect_ok({"CONFIG", "RESETSTAT"});
  for (int i = 0; i < 3; ++i) {
    talk.expect_ok({"EVAL", "return redis.call('INCR', KEYS[1])", "1", "key"});
  }
  const auto calls = talk.command_stats();
  EXPECT_EQ(calls.at("eval"), 3U);
  EXPECT_EQ(calls.at("incr"), 3U);
  EXPECT_FALSE(calls.contains("get"));
  const auto clients = talk.clients();
  ASSERT_EQ(clients.size(), 1U);
  EXPECT_EQ(clients.front().at("name"), "counter");
}

TEST_F(RedisServerTest, AnswersOfEveryKindAreRead) {
  const RedisServer server;
  RedisTalk talk(server.port());
  const RedisAnswer answer =
      talk.expect_ok({"EVAL", "return {1, 'two', {false, {err = 'E three'}}, {ok = 'OK'}}", "0"});
  EXPECT_EQ(answer.words(), R"([(integer) 1, "two", [(nil), (error) E three], "OK"])");
  const std::string binary("a\0b\r\n", 5);
  talk.expect_ok({"SET", binary, binary});
  EXPECT_EQ(talk.command({"GET", binary}).text, binary);
  EXPECT_THROW(talk.expect_ok({"INCR", binary}), RedisTalkError);
}

}  // namespace
}  // namespace mortise::test
