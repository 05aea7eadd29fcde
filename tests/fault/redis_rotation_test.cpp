// SPDX-License-Identifier: MIT
// Goal: credentials that are replaced while a client runs cost no hold: it reads them again for
// each connection, and a file that is replaced just then is no reason to give up. Method: a server
// whose certificate and password are changed, and files that are changed after that, with a moment
// in between at which they are of no use.
#include "fault/redis_fixture.hpp"
#include "model/temporary.hpp"
#include "support/certificates.hpp"
#include "support/text_of.hpp"

#include <filesystem>
#include <fstream>

namespace mortise::fault {
namespace {

class RedisRotation : public RedisTest {
 protected:
  static void copy(const std::string& from, const std::string& to) {
    std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing);
  }
  void serve(RedisServerOptions::Tls tls, const std::string& password = {}) {
    RedisServerOptions options;
    options.tls = tls;
    options.certificates = &certificates_;
    options.password = password;
    static_cast<void>(server(options));
  }
  void set(const std::string& what, const std::string& to) {
    server().talk().expect_ok({"CONFIG", "SET", what, to});
  }
  /// All of ours.
  void hang_up() {
    server().talk().command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    server().talk().command({"CLIENT", "KILL", "TYPE", "pubsub", "SKIPME", "yes"});
  }
  /// Its deadline moves, so it was renewed by a new connection.
  static void expect_renewed(Lock& lock) {
    const Token token = lock.token();
    const auto left = lock.valid_for();
    ASSERT_TRUE(eventually([&] { return lock.valid_for() > left; }, 3s));
    EXPECT_FALSE(lock.lost().stop_requested());
    EXPECT_EQ(lock.token(), token);
    EXPECT_EQ(lock.release(), Released::released);
  }
  [[nodiscard]] std::string file(const char* name) const { return directory_.file(name); }

  const test::Certificates certificates_;
  const model::TemporaryDirectory directory_;
};

// Promise: L8
TEST_F(RedisRotation, OfTheAuthorityCostsNoHold) {
  serve(RedisServerOptions::Tls::server_certificate);
  copy(certificates_.ca(), file("ca.pem"));
  Client mine(server().tls_url() + "?ca=" + file("ca.pem"));
  Lock lock = mine.make_lock("a", {.lease = 3s});
  lock.lock();
  set("tls-cert-file", certificates_.other_server_certificate());
  std::ofstream(file("ca.pem")) << "-----BEGIN CERTIFICATE-----\nMIIB";
  hang_up();
  const Failure half = failure_of([&] { mine.check(100ms); });
  EXPECT_EQ(half.code, Errc::unavailable) << half.text;
  EXPECT_THAT(half.text, HasSubstr("cannot load the CA certificate '" + file("ca.pem")));
  copy(certificates_.other_ca(), file("ca.pem"));
  expect_renewed(lock);
  EXPECT_NO_THROW(mine.check(patience));
}

// Promise: L8
TEST_F(RedisRotation, OfTheClientsCertificateCostsNoHold) {
  serve(RedisServerOptions::Tls::client_certificate_too);
  copy(certificates_.client_certificate(), file("cert.pem"));
  copy(certificates_.client_key(), file("key.pem"));
  Client mine(server().tls_url() + "?ca=" + certificates_.ca() + "&cert=" + file("cert.pem") +
              "&key=" + file("key.pem"));
  Lock lock = mine.make_lock("a", {.lease = 3s});
  lock.lock();
  set("tls-ca-cert-file", certificates_.other_ca());
  copy(certificates_.other_client_certificate(),
       file("cert.pem"));  // with the key of the other one
  hang_up();
  EXPECT_EQ(failure_of([&] { mine.check(100ms); }).code, Errc::unavailable);
  copy(certificates_.other_client_key(), file("key.pem"));
  expect_renewed(lock);
}

// Promise: L8
TEST_F(RedisRotation, OfThePasswordCostsNoHold) {
  serve(RedisServerOptions::Tls::none, "first-Xu8");
  std::ofstream(file("password")) << "first-Xu8\n";
  Client mine(server().url() + "?password-file=" + file("password"));
  Lock lock = mine.make_lock("a", {.lease = 3s});
  lock.lock();
  server().talk().expect_ok({"CONFIG", "SET", "requirepass", "second-Xu8"});
  std::ofstream(file("password")) << "";
  hang_up();
  const Failure empty = failure_of([&] { mine.check(100ms); });
  EXPECT_EQ(empty.code, Errc::unavailable) << empty.text;
  EXPECT_THAT(empty.text, HasSubstr("the file given by password-file is empty"));
  std::ofstream(file("password")) << "second-Xu8\n";
  expect_renewed(lock);
}

// A caller waits while a file is replaced.
TEST_F(RedisRotation, AWaiterOutlivesIt) {
  serve(RedisServerOptions::Tls::none, "first-Xu8");
  std::ofstream(file("password")) << "first-Xu8\n";
  Client mine(server().url() + "?password-file=" + file("password"));
  mine.check(patience);
  std::filesystem::remove(file("password"));
  hang_up();
  Worker worker;
  auto locked = worker.start([&] { return mine.make_lock("a").try_lock_for(patience); });
  EXPECT_FALSE(comes_within(locked, 300ms));
  std::ofstream(file("password")) << "first-Xu8\n";
  ASSERT_TRUE(comes(locked));
  EXPECT_TRUE(locked.get());
}

}  // namespace
}  // namespace mortise::fault
