// SPDX-License-Identifier: MIT
// Goal: by TLS a ZooKeeper is reached by the right clients alone, and says in words why not.
// Method: real servers with a secure port, certificates that nobody should trust, and what answers
// in the place of such a server.
#include <mortise/zookeeper.hpp>

#include "fault/zookeeper_fixture.hpp"
#include "support/certificates.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <vector>

namespace mortise::fault {
namespace {

using test::Certificates;
using test::ZooKeeperSecurity;

const Certificates& files() { return ZooKeeperServer::certificates(); }

std::string certificate_of(const std::string& file, const std::string& key) {
  return "&cert=" + file + "&key=" + key;
}

std::string ours() { return certificate_of(files().client_certificate(), files().client_key()); }

void expect_works(Client& mine) {
  Lock lock = mine.make_lock("a");
  ASSERT_TRUE(lock.try_lock_for(patience));
  EXPECT_EQ(lock.release(), Released::released);
}

void expect_works(const std::string& url) {
  Client mine(url);
  expect_works(mine);
}

void expect_denied_at_once(const std::string& url, const char* words) {
  Client mine(url);
  Failure failure;
  EXPECT_LT(own_duration_of([&] { failure = failure_of([&] { mine.check(10s); }); }), 5s);
  EXPECT_EQ(failure.code, Errc::denied) << failure.text;
  EXPECT_THAT(failure.text, HasSubstr(words));
  Lock lock = mine.make_lock("a");
  EXPECT_EQ(failure_of([&] { static_cast<void>(lock.try_lock_for(10s)); }).code, Errc::denied);
}

/// The server demands a certificate of clients, too, unless a test has one of its own.
class ZooKeeperTls : public ZooKeeperTest {
 protected:
  [[nodiscard]] static ZooKeeperServer& secure() { return ZooKeeperServer::shared_secure(); }
  [[nodiscard]] std::string at(const std::string& place, const std::string& more,
                               const std::string& parameters = in_short) const {
    return "zookeeper+tls://" + place + "/" + rest(parameters) + "&" + more;
  }
  [[nodiscard]] std::string secure_url(
      const std::string& more = ZooKeeperServer::secure_parameters()) const {
    return at(secure().secure_address(), more);
  }
  /// Through the proxy.
  [[nodiscard]] std::string url_by(const Proxy& way) const {
    return at("127.0.0.1:" + std::to_string(way.port()), ZooKeeperServer::secure_parameters());
  }
};

TEST_F(ZooKeeperTls, IsAskedForByTheScheme) {
  expect_works(secure_url());
  expect_works(secure_url("verify=no" + ours()));
}

// Which refuses clients after their handshake is done. By default a server speaks version 1.2.
TEST_F(ZooKeeperTls, OfVersionOneThreeWorksAsWell) {
  const ZooKeeperServer newer(
      {.security = ZooKeeperSecurity{.certificate = files().server_certificate(),
                                     .key = files().server_key(),
                                     .ca = files().ca(),
                                     .demands_clients = true,
                                     .newest = true}});
  expect_works(at(newer.secure_address(), ZooKeeperServer::secure_parameters()));
  expect_denied_at_once(at(newer.secure_address(), "ca=" + files().ca()),
                        "the server rejected the client or its certificate");
}

TEST_F(ZooKeeperTls, AnAuthorityThatWeDoNotKnowIsDenied) {
  expect_denied_at_once(secure_url("ca=" + files().other_ca() + ours()),
                        "the authorities in ca=FILE");
  expect_denied_at_once(secure_url(ours().substr(1)), "the server's certificate is not trusted");
}

// The host as the URL says it, and not the address that it leads to.
TEST_F(ZooKeeperTls, ACertificateIsForTheHostOfTheUrl) {
  const std::string port = ":" + std::to_string(secure().secure_port());
  expect_works(at("localhost" + port, ZooKeeperServer::secure_parameters()));
  expect_denied_at_once(at("127.1" + port, ZooKeeperServer::secure_parameters()), "mismatch");
  expect_works(at("127.1" + port, "server-name=localhost&" + ZooKeeperServer::secure_parameters()));
}

// Each name has its turn where both lead to one address; the certificate is for one of them.
TEST_F(ZooKeeperTls, AnAddressMayHaveTwoNames) {
  const std::string port = ":" + std::to_string(secure().secure_port());
  for (int i = 0; i < 4; ++i) {
    Client mine(at("127.1" + port + ",127.0.0.1" + port, ZooKeeperServer::secure_parameters()));
    EXPECT_FALSE(failure_of([&] { mine.check(patience); }));
  }
}

// Where it is the certificate of one server of several, the others are asked.
TEST_F(ZooKeeperTls, ACertificateOfYesterdayIsDenied) {
  const ZooKeeperServer bad(
      {.security = ZooKeeperSecurity{.certificate = files().expired_certificate(),
                                     .key = files().server_key(),
                                     .ca = files().ca()}});
  expect_works(at(bad.secure_address(), "verify=no"));
  expect_denied_at_once(at(bad.secure_address(), "ca=" + files().ca()), "certificate has expired");
  for (int i = 0; i < 4; ++i) {
    Client mine(at(bad.secure_address() + "," + secure().secure_address(),
                   ZooKeeperServer::secure_parameters(), "session=10s&margin=300ms"));
    const Failure failure = failure_of([&] { mine.check(patience); });
    EXPECT_FALSE(failure) << failure.text;
  }
}

// A refusal ends a call only if every server has refused: one that does not answer may come back.
TEST_F(ZooKeeperTls, ACertificateOfYesterdayIsNotTheWordOfAServerThatDoesNotAnswer) {
  const ZooKeeperServer bad(
      {.security = ZooKeeperSecurity{.certificate = files().expired_certificate(),
                                     .key = files().server_key(),
                                     .ca = files().ca()}});
  Proxy way(secure().secure_port());
  way.blackhole(true);
  const std::string url = at(bad.secure_address() + ",127.0.0.1:" + std::to_string(way.port()),
                             ZooKeeperServer::secure_parameters());
  // Chance decides which server a client tries when.
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<std::future<std::chrono::nanoseconds>> waits;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(std::make_unique<Client>(url));
    waits.push_back(std::async(std::launch::async, [&mine = *clients.back()] {
      return duration_of([&] { EXPECT_TRUE(failure_of([&] { mine.check(5s); })); });
    }));
  }
  for (auto& wait : waits) EXPECT_GE(wait.get(), 5s) << "it took one refusal for all of them";
}

TEST_F(ZooKeeperTls, AServerThatDemandsACertificateSaysSo) {
  expect_denied_at_once(secure_url("ca=" + files().ca()),
                        "the server rejected the client or its certificate");
  expect_denied_at_once(
      secure_url("ca=" + files().ca() +
                 certificate_of(files().other_client_certificate(), files().other_client_key())),
      "the server rejected the client or its certificate");
}

// By its certificate the client is somebody, as by a user and a password.
TEST_F(ZooKeeperTls, NodesCanBeForOnesOwnCertificateAlone) {
  Client mine(secure_url("acl=creator&" + ZooKeeperServer::secure_parameters()));
  Lock lock = mine.make_lock("a");
  ASSERT_TRUE(lock.try_lock_for(patience));
  ZooKeeperTalk stranger = secure().talk();
  EXPECT_THROW(static_cast<void>(locks().queue(stranger, "a")), ZooKeeperTalkError);
  EXPECT_EQ(lock.release(), Released::released);
}

TEST_F(ZooKeeperTls, APlainPortIsNone) {
  Client mine(at(server().address(), "ca=" + files().ca()));
  const Failure failure = failure_of([&] { mine.check(1s); });
  EXPECT_EQ(failure.code, Errc::unavailable) << failure.text;
  EXPECT_THAT(failure.text, HasSubstr("is this a TLS port?"));
}

TEST_F(ZooKeeperTls, APortForItIsNamedToWhoComesWithout) {
  Client mine("zookeeper://" + secure().secure_address() + "/" + rest());
  const Failure failure = failure_of([&] { mine.check(1s); });
  EXPECT_EQ(failure.code, Errc::unavailable) << failure.text;
  EXPECT_THAT(failure.text, HasSubstr("zookeeper+tls"));
}

/// Accepts, and answers nothing.
class Silent {
 public:
  Silent() {
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(fd_, reinterpret_cast<sockaddr*>(&address), size);
    ::listen(fd_, 16);
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }
  ~Silent() { ::close(fd_); }
  Silent(const Silent&) = delete;
  Silent& operator=(const Silent&) = delete;
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  int fd_ = -1;
  std::uint16_t port_ = 0;
};

TEST_F(ZooKeeperTls, AHelloThatIsNotAnsweredHoldsNobodyUp) {
  const Silent silent;
  Client mine(at(silent.address(), "ca=" + files().ca()));
  Failure failure;
  EXPECT_LT(own_duration_of([&] { failure = failure_of([&] { mine.check(2s); }); }), 2500ms);
  EXPECT_EQ(failure.code, Errc::unavailable) << failure.text;
  EXPECT_THAT(failure.text, HasSubstr("did not answer the TLS handshake in time"));
  EXPECT_LT(own_duration_of([&] { mine.close(); }), 1s);
  // And the other server of the URL is asked.
  Client two(
      at(silent.address() + "," + secure().secure_address(), ZooKeeperServer::secure_parameters()));
  EXPECT_FALSE(failure_of([&] { two.check(patience); }));
}

TEST_F(ZooKeeperTls, AHandshakeThatIsCutIsBegunAnew) {
  Proxy way(secure().secure_port());
  for (const std::size_t bytes : {1U, 5U, 100U, 700U}) {
    way.cut_reply_after(bytes);
    Client mine(url_by(way));
    EXPECT_FALSE(failure_of([&] { mine.check(patience); })) << bytes;
  }
  EXPECT_EQ(way.counts().mishaps, 4U);
}

// In pieces of a byte, so that a record ends nowhere; and many at once.
TEST_F(ZooKeeperTls, BytesComeInAnyPieces) {
  Proxy way(secure().secure_port());
  Client mine("zookeeper+tls://127.0.0.1:" + std::to_string(way.port()) + "/" +
              rest("session=20s&" + ZooKeeperServer::secure_parameters()));
  mine.check(patience);
  way.drip(20us);
  expect_works(mine);
  way.drip(0ns);
  LockOptions options;
  options.label = std::string(128, 'x');
  std::vector<Lock> locks;
  for (int i = 0; i < 150; ++i) locks.push_back(mine.make_lock("a" + std::to_string(i), options));
  for (Lock& lock : locks) ASSERT_TRUE(lock.try_lock_for(patience));
  EXPECT_EQ(mine.list({}, {.limit = 1'000, .wait = patience}).names.size(), 150U);
  for (Lock& lock : locks) EXPECT_EQ(lock.release(), Released::released);
}

TEST_F(ZooKeeperTls, AHoldOutlivesItsConnection) {
  Proxy way(secure().secure_port());
  Client mine(url_by(way));
  Lock lock = mine.make_lock("a");
  ASSERT_TRUE(lock.try_lock_for(patience));
  for (int i = 0; i < 5; ++i) {
    EXPECT_GE(way.cut_all(), 1U);
    mine.check(patience);
  }
  EXPECT_EQ(lock.release(), Released::released);
}

TEST_F(ZooKeeperTls, ClosingEndsTheSessionAtTheServer) {
  Client other(secure_url());
  other.check(patience);
  Client mine(secure_url());
  Lock lock = mine.make_lock("a");
  ASSERT_TRUE(lock.try_lock_for(patience));
  mine.close();
  EXPECT_LT(own_duration_of([&] { EXPECT_TRUE(other.make_lock("a").try_lock_for(patience)); }), 1s);
}

TEST_F(ZooKeeperTls, AFileThatCanNotBeReadIsNamed) {
  const Failure failure =
      failure_of([&] { const Client refused(at("127.0.0.1", "ca=/no/such/ca.pem")); });
  EXPECT_EQ(failure.code, Errc::misconfigured);
  EXPECT_THAT(failure.text, HasSubstr("'/no/such/ca.pem'"));
}

}  // namespace
}  // namespace mortise::fault
