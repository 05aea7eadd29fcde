// SPDX-License-Identifier: MIT
// Certificates of a test's own: an authority, a server and a client that it vouches for, and ones
// that nobody should trust. Made by the openssl command line, in a directory that goes with them.
#pragma once

#include "model/temporary.hpp"

#include <string>

namespace mortise::test {

/// Files, all PEM.
class Certificates {
 public:
  /// @throws std::runtime_error with the words of openssl
  Certificates();

  [[nodiscard]] std::string ca() const { return file("ca.pem"); }
  /// For 127.0.0.1, ::1 and localhost.
  [[nodiscard]] std::string server_certificate() const { return file("server.pem"); }
  [[nodiscard]] std::string server_key() const { return file("server.key"); }
  [[nodiscard]] std::string client_certificate() const { return file("client.pem"); }
  [[nodiscard]] std::string client_key() const { return file("client.key"); }

  /// An authority of the same name that signed none of them.
  [[nodiscard]] std::string other_ca() const { return file("other_ca.pem"); }
  /// A client's, by the other authority; for `other_client_key()`.
  [[nodiscard]] std::string other_client_certificate() const { return file("other_client.pem"); }
  [[nodiscard]] std::string other_client_key() const { return file("other_client.key"); }
  /// The server's until yesterday; for `server_key()`.
  [[nodiscard]] std::string expired_certificate() const { return file("expired.pem"); }
  /// For `server_key()` and the host "elsewhere.test" alone.
  [[nodiscard]] std::string elsewhere_certificate() const { return file("elsewhere.pem"); }
  /// The next ones are for `server_key()`, too. For the hosts "*.shop.test".
  [[nodiscard]] std::string wild_certificate() const { return file("wild.pem"); }
  /// By the other authority, for what `server_certificate()` is for.
  [[nodiscard]] std::string other_server_certificate() const { return file("other_server.pem"); }
  /// Without a subject alternative name: the common name is "localhost", or "127.0.0.1".
  [[nodiscard]] std::string named_certificate() const { return file("named.pem"); }
  [[nodiscard]] std::string numbered_certificate() const { return file("numbered.pem"); }
  /// The common name is "localhost", and the subject alternative name "elsewhere.test".
  [[nodiscard]] std::string misnamed_certificate() const { return file("misnamed.pem"); }
  /// The server's key under a pass phrase.
  [[nodiscard]] std::string locked_key() const { return file("locked.key"); }

 private:
  [[nodiscard]] std::string file(const char* name) const { return directory_.file(name); }

  model::TemporaryDirectory directory_;
};

}  // namespace mortise::test
