// SPDX-License-Identifier: MIT
// Goal: whatever happens below TLS, its stream neither blocks nor trusts nor speaks out of turn.
// Method: plain streams between it and the server that drip, cut, damage and record.
#include "remote/stream/tls.hpp"
#include "unit/remote_tls_fixture.hpp"

#include <gtest/gtest.h>

#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

namespace mortise::remote {
namespace {

using Status = Stream::Status;

// What a Wrapper of a test does to the bytes; it outlives the stream.
struct Faults {
  bool drip = false;                          // a byte at a time, every other call none
  bool hold = false;                          // what has arrived
  std::size_t cut_after = std::string::npos;  // so many bytes read, the server is gone
  std::size_t damage_at = std::string::npos;  // this byte of what is read
  bool mute = false;                          // no byte leaves any more
  std::string written{};                      // all that left
  int writes = 0;                             // tried
  std::size_t read = 0;
};

class Disturbed final : public Wrapper {
 public:
  Disturbed(const Endpoint& endpoint, Faults& faults)
      : Wrapper(open_stream(endpoint, nullptr, "")), faults_(faults) {}

  [[nodiscard]] Moved read(std::span<char> into) override {
    if (faults_.hold || (faults_.drip && (++turns_ % 2 == 0))) return {Status::again};
    if (faults_.read >= faults_.cut_after) return {Status::closed};
    const std::size_t most =
        std::min(faults_.drip ? 1 : into.size(), faults_.cut_after - faults_.read);
    const Moved moved = Wrapper::read(into.first(most));
    // Damage may make the rest look longer than it is: nothing more comes.
    if (moved.status == Status::again && faults_.read > faults_.damage_at) return {Status::closed};
    if (faults_.damage_at - faults_.read < moved.bytes) into[faults_.damage_at - faults_.read] ^= 1;
    faults_.read += moved.bytes;
    return moved;
  }
  [[nodiscard]] Moved write(std::span<const char> from) override {
    ++faults_.writes;
    if (faults_.mute) return {Status::failed};
    if (faults_.drip && (++turns_ % 2 == 0)) return {Status::again};
    const Moved moved = Wrapper::write(faults_.drip ? from.first(1) : from);
    faults_.written.append(from.data(), moved.bytes);
    return moved;
  }

 private:
  Faults& faults_;
  int turns_ = 0;
};

std::unique_ptr<Stream> open(const TlsServer& server, Faults& faults,
                             const std::string& host = "127.0.0.1") {
  return Tls(TlsServer::trusting(), "redis")
      .wrap(std::make_unique<Disturbed>(server.endpoint(), faults), host);
}

void expect_whole_echo(Stream& stream) {
  ASSERT_EQ(write_all(stream, "abc\n"), Status::done) << stream.failure().text;
  std::string answer;
  ASSERT_EQ(read_all(stream, answer, 4), Status::done) << stream.failure().text;
  EXPECT_EQ(answer, "cba\n");
}

TEST(RemoteTlsFaultTest, ByteByByteItWorks) {
  const TlsServer server;
  Faults faults{.drip = true};
  const auto stream = open(server, faults);
  ASSERT_EQ(connect(*stream), Status::done) << stream->failure().text;
  for (int i = 0; i < 3; ++i) expect_whole_echo(*stream);
}

// Whoever reads less than asked for may poll: nothing is left where no poll sees it.
TEST(RemoteTlsFaultTest, AReadTakesAllThatHasArrived) {
  const TlsServer server;
  Faults faults;
  const auto stream = open(server, faults);
  ASSERT_EQ(connect(*stream), Status::done);
  expect_whole_echo(*stream);
  faults.hold = true;
  // Each line comes back as a record of its own.
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(write_all(*stream, std::string(99, 'x') + "\n"), Status::done);
  }
  std::string buffer(12'000, '\0');
  EXPECT_EQ(stream->read(buffer).status, Status::again);
  constexpr int records = 100 * (100 + 22);
  ASSERT_TRUE(test::eventually([&] {
    int bytes = 0;
    return ::ioctl(stream->descriptor(), FIONREAD, &bytes) == 0 && bytes >= records;
  }));
  faults.hold = false;
  EXPECT_EQ(stream->read(buffer).bytes, 10'000U);
}

// Of a handshake of so many bytes, the next one has so many at least: signatures differ in length.
std::size_t least(std::size_t bytes) { return bytes - 16; }

TEST(RemoteTlsFaultTest, AServerThatGoesAwayInTheHandshakeIsUnavailable) {
  const TlsServer server("-tls1_2");
  Faults whole;
  ASSERT_EQ(connect(*open(server, whole)), Status::done);
  ASSERT_GT(whole.read, 100U);
  for (std::size_t size = 0; size < least(whole.read); size += 29) {
    Faults faults{.cut_after = size};
    const auto stream = open(server, faults);
    EXPECT_EQ(connect(*stream), Status::closed) << size;
    EXPECT_EQ(stream->advance(), Status::closed);
    EXPECT_EQ(stream->failure().code, Errc::unavailable) << stream->failure().text;
    EXPECT_NE(stream->failure().text.find("during the TLS handshake"), std::string::npos);
  }
}

TEST(RemoteTlsFaultTest, ADamagedHandshakeFails) {
  const TlsServer server("-tls1_2");
  Faults whole;
  ASSERT_EQ(connect(*open(server, whole)), Status::done);
  for (std::size_t at = 0; at < least(whole.read); at += 7) {
    Faults faults{.damage_at = at};
    const auto stream = open(server, faults);
    const Status status = connect(*stream);
    EXPECT_TRUE(status == Status::failed || status == Status::closed) << at;
    EXPECT_TRUE(stream->failure()) << at;
  }
}

TEST(RemoteTlsFaultTest, DamagedBytesAreNeverRead) {
  const TlsServer server;
  Faults faults;
  const auto stream = open(server, faults);
  ASSERT_EQ(connect(*stream), Status::done);
  expect_whole_echo(*stream);
  faults.damage_at = faults.read + 10;
  ASSERT_EQ(write_all(*stream, "abc\n"), Status::done);
  std::string answer;
  EXPECT_EQ(read_all(*stream, answer, 4), Status::failed);
  EXPECT_EQ(answer, "");
  EXPECT_EQ(stream->failure().code, Errc::unavailable);
  EXPECT_EQ(stream->write(std::string_view("abc\n")).status, Status::failed);
}

// A server that refuses us says so and closes; whoever is about to write must still hear it.
TEST(RemoteTlsFaultTest, WhatCameBeforeAWriteFailedCanBeRead) {
  const TlsServer server;
  Faults faults;
  const auto stream = open(server, faults);
  ASSERT_EQ(connect(*stream), Status::done);
  ASSERT_EQ(write_all(*stream, "abc\n"), Status::done);
  faults.mute = true;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(stream->write(std::string_view("def\n")).status, Status::failed);
  }
  std::string answer;
  EXPECT_EQ(read_all(*stream, answer, 4), Status::done);
  EXPECT_EQ(answer, "cba\n");
}

TEST(RemoteTlsFaultTest, WhatDoesNotSpeakTlsIsSaidToBe) {
  const Listener listener;
  const Tls tls(TlsServer::trusting(), "redis");
  const auto stream = open_stream(listener.endpoint(), &tls, "127.0.0.1");
  EXPECT_EQ(stream->advance(), Status::again);
  const base::UniqueFd peer = listener.accept();
  const std::string_view answer = "-ERR Protocol error\r\n";
  ASSERT_EQ(::send(peer.get(), answer.data(), answer.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(answer.size()));
  EXPECT_EQ(connect(*stream), Status::failed);
  EXPECT_EQ(stream->failure().code, Errc::misconfigured);
  EXPECT_NE(stream->failure().text.find("does not speak TLS"), std::string::npos)
      << stream->failure().text;
}

TEST(RemoteTlsFaultTest, TheServerIsToldTheNameButNoNumber) {
  const TlsServer server;
  Faults named;
  ASSERT_EQ(connect(*open(server, named, "localhost")), Status::done);
  EXPECT_NE(named.written.find("localhost"), std::string::npos);
  Faults numbered;
  ASSERT_EQ(connect(*open(server, numbered, "127.0.0.1")), Status::done);
  EXPECT_EQ(numbered.written.find("127.0.0.1"), std::string::npos);
}

TEST(RemoteTlsFaultTest, WhatIsSentCanNotBeRead) {
  const TlsServer server;
  Faults faults;
  const auto stream = open(server, faults);
  ASSERT_EQ(connect(*stream), Status::done);
  ASSERT_EQ(write_all(*stream, "AUTH secret\n"), Status::done);
  EXPECT_EQ(faults.written.find("secret"), std::string::npos);
}

TEST(RemoteTlsFaultTest, ItSaysGoodbyeButNotFromAForkedChild) {
  const TlsServer server;
  Faults faults;
  auto stream = open(server, faults);
  ASSERT_EQ(connect(*stream), Status::done);
  expect_whole_echo(*stream);
  const int before = faults.writes;
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);  // where it hangs
    stream.reset();
    ::_exit(faults.writes == before ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  expect_whole_echo(*stream);
  const std::size_t last = faults.written.size();
  stream.reset();
  EXPECT_GT(faults.written.size(), last);
}

TEST(RemoteTlsFaultTest, WithoutAHandshakeThereIsNoGoodbye) {
  const Listener listener;
  Faults faults;
  auto stream = Tls(TlsServer::trusting(), "redis")
                    .wrap(std::make_unique<Disturbed>(listener.endpoint(), faults), "localhost");
  EXPECT_EQ(stream->advance(), Status::again);
  const int before = faults.writes;
  EXPECT_GT(before, 0);
  stream.reset();
  EXPECT_EQ(faults.writes, before);
}

}  // namespace
}  // namespace mortise::remote
