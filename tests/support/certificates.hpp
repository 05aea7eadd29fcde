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
  /// The server's key under a pass phrase.
  [[nodiscard]] std::string locked_key() const { return file("locked.key"); }

 private:
  [[nodiscard]] std::string file(const char* name) const { return directory_.file(name); }

  model::TemporaryDirectory directory_;
};

}  // namespace mortise::test
