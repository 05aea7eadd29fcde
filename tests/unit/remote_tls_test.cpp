// SPDX-License-Identifier: MIT
// Goal: an encrypted stream moves bytes as a plain one does, to the right server only, and says in
// words why it does not. Method: `openssl s_server` with certificates of the test's own.
#include "remote/stream/tls.hpp"
#include "support/no_descriptors.hpp"
#include "unit/remote_tls_fixture.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <thread>

namespace mortise::remote {
namespace {

using Status = Stream::Status;

// Sends a line and expects it back, reversed.
void expect_echo(Stream& stream, std::string line = "abc") {
  ASSERT_EQ(write_all(stream, line + "\n"), Status::done) << stream.failure().text;
  std::string answer;
  ASSERT_EQ(read_all(stream, answer, line.size() + 1), Status::done) << stream.failure().text;
  std::reverse(line.begin(), line.end());
  EXPECT_EQ(answer, line + "\n");
}

void expect_works(Stream& stream) {
  ASSERT_EQ(connect(stream), Status::done) << stream.failure().text;
  expect_echo(stream);
}

// It fails, in the handshake or, as TLS 1.3 has it, when the server's answer comes.
Failure failure_of(Stream& stream) {
  if (connect(stream) == Status::done) {
    const Status written = write_all(stream, "abc\n");
    const Status read = read_to_the_end(stream);
    EXPECT_NE(read, Status::done) << static_cast<int>(written);
  }
  return stream.failure();
}

void expect_denied(Stream& stream, const char* words) {
  const Failure failure = failure_of(stream);
  EXPECT_EQ(failure.code, Errc::denied) << failure.text;
  EXPECT_NE(failure.text.find(words), std::string::npos) << failure.text;
}

std::string with_certificate(const std::string& file) { return "-cert " + file; }

class RemoteTlsVersionTest : public testing::TestWithParam<const char*> {};

TEST_P(RemoteTlsVersionTest, BytesGoBothWays) {
  const TlsServer server(GetParam());
  const auto stream = server.open();
  EXPECT_EQ(stream->interest(), POLLOUT);
  ASSERT_EQ(connect(*stream), Status::done) << stream->failure().text;
  EXPECT_EQ(stream->advance(), Status::done);
  EXPECT_EQ(stream->interest(), 0);
  std::array<char, 8> buffer{};
  EXPECT_EQ(stream->read({}).status, Status::again);
  EXPECT_EQ(stream->endpoint().text(), server.endpoint().text());
  expect_echo(*stream);
  EXPECT_EQ(stream->read(buffer).status, Status::again);
  expect_echo(*stream, std::string(2'000, 'x') + "y");
}

TEST_P(RemoteTlsVersionTest, AClientCertificateIsShown) {
  const TlsServer server(std::string(GetParam()) + " -Verify 1 -verify_return_error -CAfile " +
                         certificates().ca());
  TlsSettings settings = TlsServer::trusting();
  expect_denied(*server.open(settings), "rejected the client");
  settings.certificate = certificates().other_client_certificate();
  settings.key = certificates().other_client_key();
  expect_denied(*server.open(settings), "unknown ca");
  settings.certificate = certificates().client_certificate();
  settings.key = certificates().client_key();
  expect_works(*server.open(settings));
}

TEST_P(RemoteTlsVersionTest, TheServersGoodbyeIsAnOrderlyEnd) {
  const TlsServer server(GetParam());
  const auto stream = server.open();
  expect_works(*stream);
  ASSERT_EQ(write_all(*stream, "CLOSE\n"), Status::done);
  EXPECT_EQ(read_to_the_end(*stream), Status::closed);
  std::array<char, 8> buffer{};
  EXPECT_EQ(stream->read(buffer).status, Status::closed);
  EXPECT_EQ(stream->write(std::string_view("abc")).status, Status::closed);
  EXPECT_EQ(stream->failure().text, "the server closed the connection");
}

// Ten megabytes each way at the same time, so that every kind of "again" comes in between.
TEST_P(RemoteTlsVersionTest, TwoThreadsReadAndWriteAtOnce) {
  const TlsServer server(GetParam());
  const auto stream = server.open();
  ASSERT_EQ(connect(*stream), Status::done) << stream->failure().text;
  std::mt19937 random(7);
  std::string sent;
  std::string expected;
  while (sent.size() < 10'000'000) {
    std::string line(1 + random() % 1'500, '\0');
    for (char& c : line) c = static_cast<char>('a' + random() % 26);
    sent += line + "\n";
    expected.append(line.rbegin(), line.rend());
    expected += "\n";
  }
  std::thread writer([&] { EXPECT_EQ(write_all(*stream, sent), Status::done); });
  std::string answer;
  EXPECT_EQ(read_all(*stream, answer, expected.size()), Status::done) << stream->failure().text;
  writer.join();
  EXPECT_TRUE(answer == expected);
}

INSTANTIATE_TEST_SUITE_P(Versions, RemoteTlsVersionTest, testing::Values("-tls1_2", "-tls1_3"));

// Nobody polls for bytes that TLS has taken from the socket already.
TEST(RemoteTlsTest, SmallReadsNeedOnePollOnly) {
  const TlsServer server;
  const auto stream = server.open();
  ASSERT_EQ(connect(*stream), Status::done) << stream->failure().text;
  ASSERT_EQ(write_all(*stream, std::string(999, 'x') + "\n"), Status::done);
  std::array<char, 7> buffer{};
  Stream::Moved moved{Status::again};
  // Before the answer there are the server's session tickets, which are no data.
  while (moved.status == Status::again) {
    ASSERT_TRUE(wait_for(stream->descriptor(), POLLIN));
    moved = stream->read(buffer);
  }
  std::size_t sum = 0;
  while (moved.status == Status::done) {
    sum += moved.bytes;
    moved = stream->read(buffer);
  }
  EXPECT_EQ(moved.status, Status::again);
  EXPECT_EQ(sum, 1000U);
}

TEST(RemoteTlsTest, AnotherAuthorityIsNotTrusted) {
  const TlsServer server;
  TlsSettings settings;
  settings.ca_file = certificates().other_ca();
  expect_denied(*server.open(settings), "the server's certificate is not trusted: ");
  expect_denied(*server.open(settings), "the authorities in ca=FILE");
  // The system's authorities did not sign it either.
  expect_denied(*server.open(TlsSettings{}), "the server's certificate is not trusted: ");
}

TEST(RemoteTlsTest, TheCertificateIsForTheHost) {
  const TlsServer server;
  for (const char* host : {"127.0.0.1", "::1", "localhost", "LOCALHOST", "localhost."}) {
    expect_works(*server.open(TlsServer::trusting(), host));
  }
  expect_denied(*server.open(TlsServer::trusting(), "127.0.0.2"), "IP address mismatch");
  expect_denied(*server.open(TlsServer::trusting(), "fe80::1%lo"), "IP address mismatch");
  expect_denied(*server.open(TlsServer::trusting(), "redis.test"), "ostname mismatch");
  // The subject's name is no host name.
  expect_denied(*server.open(TlsServer::trusting(), "mortise server"), "ostname mismatch");
}

// RFC 9525: only a subject alternative name says which host a certificate is for.
TEST(RemoteTlsTest, ACommonNameIsNotTheHost) {
  const test::Certificates& all = certificates();
  const struct {
    std::string certificate;
    const char* host;
  } cases[] = {
      {all.named_certificate(), "localhost"},
      {all.numbered_certificate(), "127.0.0.1"},
      {all.misnamed_certificate(), "localhost"},
  };
  for (const auto& each : cases) {
    const TlsServer server("-cert " + each.certificate);
    const auto stream = server.open(TlsServer::trusting(), each.host);
    EXPECT_EQ(connect(*stream), Status::failed) << each.certificate;
    EXPECT_EQ(stream->failure().code, Errc::denied) << stream->failure().text;
  }
}

TEST(RemoteTlsTest, AStarStandsForOneWholeLabel) {
  const TlsServer server("-cert " + certificates().wild_certificate());
  EXPECT_EQ(connect(*server.open(TlsServer::trusting(), "redis-1.shop.test")), Status::done);
  for (const char* const host : {"shop.test", "a.b.shop.test", "redis.shop.test.evil.test"}) {
    EXPECT_EQ(connect(*server.open(TlsServer::trusting(), host)), Status::failed) << host;
  }
}

/// A file that a program replaces while clients run.
class Replaced {
 public:
  explicit Replaced(const std::string& begin) { with(begin); }
  [[nodiscard]] std::string path() const { return directory_.file("replaced.pem"); }
  void with(const std::string& file) const { std::ofstream(path()) << test::text_of(file); }
  void with_half_of(const std::string& file) const {
    const std::string all = test::text_of(file);
    std::ofstream(path()) << all.substr(0, all.size() / 2);
  }

 private:
  model::TemporaryDirectory directory_;
};

Failure failure_to_connect(const TlsServer& server, const Tls& tls) {
  const auto stream = open_stream(server.endpoint(), &tls, "127.0.0.1");
  return connect(*stream) == Status::done ? Failure{} : stream->failure();
}

TEST(RemoteTlsTest, AnAuthorityThatIsReplacedIsReadForTheNextConnection) {
  const test::Certificates& all = certificates();
  const TlsServer server("-cert " + all.other_server_certificate());
  const Replaced ca(all.ca());
  const Tls tls({.ca_file = ca.path()}, "redis");
  EXPECT_EQ(failure_to_connect(server, tls).code, Errc::denied);
  ca.with_half_of(all.other_ca());
  const Failure half = failure_to_connect(server, tls);
  EXPECT_EQ(half.code, Errc::unavailable) << half.text;
  EXPECT_NE(half.text.find("'" + ca.path() + "'"), std::string::npos) << half.text;
  ASSERT_EQ(::unlink(ca.path().c_str()), 0);
  EXPECT_EQ(failure_to_connect(server, tls).code, Errc::unavailable);
  ca.with(all.other_ca());
  EXPECT_FALSE(failure_to_connect(server, tls));
}

// To read the authorities that a system trusts takes longer than to connect.
TEST(RemoteTlsTest, AFileThatStaysIsNotReadForEachConnection) {
  const TlsServer server;
  const Replaced ca(certificates().ca());
  const Tls tls({.ca_file = ca.path()}, "redis");
  const auto is_kept = [&] {
    EXPECT_FALSE(failure_to_connect(server, tls));
    auto plain = open_stream(server.endpoint(), nullptr, "127.0.0.1");
    std::unique_ptr<Stream> stream;
    {
      const test::NoDescriptors none;
      stream = tls.wrap(std::move(plain), "127.0.0.1");
    }
    return connect(*stream) == Status::done;
  };
  EXPECT_TRUE(test::eventually(is_kept));
  ca.with(certificates().other_ca());
  EXPECT_EQ(failure_to_connect(server, tls).code, Errc::denied) << "and once it has changed";
}

// Certificate and key are two files, of which one is replaced first.
TEST(RemoteTlsTest, AClientCertificateThatIsReplacedIsReadForTheNextConnection) {
  const test::Certificates& all = certificates();
  const TlsServer server("-Verify 1 -verify_return_error -CAfile " + all.other_ca());
  const Replaced certificate(all.client_certificate());
  const Replaced key(all.client_key());
  const Tls tls({.ca_file = all.ca(), .certificate = certificate.path(), .key = key.path()},
                "redis");
  certificate.with(all.other_client_certificate());
  const Failure unlike = failure_to_connect(server, tls);
  EXPECT_EQ(unlike.code, Errc::unavailable) << unlike.text;
  key.with(all.other_client_key());
  const auto stream = open_stream(server.endpoint(), &tls, "127.0.0.1");
  ASSERT_EQ(connect(*stream), Status::done) << stream->failure().text;
  expect_works(*stream);
}

TEST(RemoteTlsTest, AnotherNameCanBeAskedFor) {
  const TlsServer server(with_certificate(certificates().elsewhere_certificate()));
  expect_denied(*server.open(), "mismatch");
  TlsSettings settings = TlsServer::trusting();
  settings.server_name = "elsewhere.test";
  expect_works(*server.open(settings));
  expect_works(*server.open(settings, ""));
}

TEST(RemoteTlsTest, WithoutANameNothingIsTrusted) {
  const TlsServer server;
  const auto stream = server.open(TlsServer::trusting(), "");
  EXPECT_EQ(stream->advance(), Status::failed);
  EXPECT_EQ(stream->failure().code, Errc::denied);
}

TEST(RemoteTlsTest, AnExpiredCertificateIsRefused) {
  const TlsServer server(with_certificate(certificates().expired_certificate()));
  expect_denied(*server.open(), "certificate has expired");
}

TEST(RemoteTlsTest, VerificationCanBeSwitchedOff) {
  const TlsServer server(with_certificate(certificates().expired_certificate()));
  TlsSettings settings;
  settings.verify = false;
  expect_works(*server.open(settings, "redis.test"));
  expect_works(*server.open(settings, ""));
}

TEST(RemoteTlsTest, OldVersionsAreRefused) {
  const TlsServer server("-tls1_1 -cipher DEFAULT@SECLEVEL=0");
  const auto stream = server.open();
  EXPECT_EQ(connect(*stream), Status::failed);
  EXPECT_EQ(stream->failure().code, Errc::unavailable);
  EXPECT_NE(stream->failure().text.find("version"), std::string::npos) << stream->failure().text;
}

TEST(RemoteTlsTest, ANewKeyInBetweenIsTaken) {
  const model::TemporaryDirectory directory;
  const std::string fifo = directory.file("input");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const auto input = base::UniqueFd::open([&] { return ::open(fifo.c_str(), O_RDWR | O_CLOEXEC); });
  const TlsServer server = TlsServer::speaking(fifo);
  const auto stream = server.open();
  ASSERT_EQ(connect(*stream), Status::done) << stream->failure().text;
  std::string expected;
  for (const std::string line : {"one\n", "K\n", "two\n", "K\n", "k\n", "three\n"}) {
    ASSERT_EQ(::write(input.get(), line.data(), line.size()), static_cast<ssize_t>(line.size()));
    // The server takes a line for a command (a new key) only where its read begins with it.
    ASSERT_TRUE(test::eventually([&] {
      int left = -1;
      return ::ioctl(input.get(), FIONREAD, &left) == 0 && left == 0;
    }));
    if (line.size() > 2) expected += line;
  }
  std::string text;
  EXPECT_EQ(read_all(*stream, text, expected.size()), Status::done) << stream->failure().text;
  EXPECT_EQ(text, expected);
}

TEST(RemoteTlsTest, AServerThatDiesIsNoticed) {
  TlsServer server;
  const auto stream = server.open();
  expect_works(*stream);
  server.kill();
  EXPECT_NE(read_to_the_end(*stream), Status::done);
  EXPECT_EQ(stream->failure().code, Errc::unavailable);
  EXPECT_NE(write_all(*stream, "abc\n"), Status::done);
  // And no signal was raised; writing only must not do so either.
  TlsServer other;
  const auto writer = other.open();
  expect_works(*writer);
  other.kill();
  EXPECT_TRUE(test::eventually(
      [&] { return writer->write(std::string_view("abc\n")).status == Status::failed; }));
  EXPECT_EQ(writer->failure().code, Errc::unavailable);
}

TEST(RemoteTlsTest, ARefusedConnectionFails) {
  Endpoint nobody;
  { nobody = Listener().endpoint(); }
  const Tls tls(TlsServer::trusting(), "redis");
  const auto stream = open_stream(nobody, &tls, "127.0.0.1");
  EXPECT_EQ(connect(*stream), Status::failed);
  EXPECT_EQ(stream->failure().code, Errc::unavailable);
  EXPECT_NE(stream->failure().text.find("Connection refused"), std::string::npos);
}

std::string refusal(const TlsSettings& settings) {
  try {
    const Tls tls(settings, "redis");
  } catch (const Error& error) {
    EXPECT_EQ(error.errc(), Errc::misconfigured);
    return error.what();
  }
  return "accepted";
}

TEST(RemoteTlsTest, AFileThatCanNotBeUsedIsNamed) {
  const model::TemporaryDirectory directory;
  const std::string garbage = directory.file("garbage.pem");
  std::ofstream(garbage) << "not a certificate";
  const test::Certificates& good = certificates();
  const struct {
    TlsSettings settings;
    std::string words;
  } cases[] = {
      {{.ca_file = "/no/such/ca.pem"}, "'/no/such/ca.pem': No such file"},
      {{.ca_file = garbage}, "'" + garbage + "'"},
      {{.certificate = good.client_certificate()}, "cert and key must be given together"},
      {{.key = good.client_key()}, "cert and key must be given together"},
      {{.certificate = "/no/such.pem", .key = good.client_key()}, "'/no/such.pem': No such file"},
      {{.certificate = garbage, .key = good.client_key()}, "'" + garbage + "'"},
      {{.certificate = good.client_certificate(), .key = garbage}, "'" + garbage + "'"},
      {{.certificate = good.client_certificate(), .key = good.server_key()}, "mismatch"},
      // Without a word to the terminal.
      {{.certificate = good.server_certificate(), .key = good.locked_key()}, good.locked_key()},
  };
  for (const auto& each : cases) {
    EXPECT_NE(refusal(each.settings).find(each.words), std::string::npos)
        << refusal(each.settings) << " has no " << each.words;
  }
  EXPECT_EQ(refusal({.certificate = good.client_certificate(), .key = good.client_key()}),
            "accepted");
}

}  // namespace
}  // namespace mortise::remote
