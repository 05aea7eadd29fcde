// SPDX-License-Identifier: MIT
// A real TLS server for the tests of the client's side: `openssl s_server`, which sends back each
// line reversed.
#pragma once

#include "model/process.hpp"
#include "model/temporary.hpp"
#include "remote/stream/tls.hpp"
#include "support/certificates.hpp"
#include "support/eventually.hpp"
#include "support/text_of.hpp"
#include "unit/remote_stream_fixture.hpp"

#include <optional>
#include <stdexcept>
#include <string>

namespace mortise::remote {

/// @return the certificates of all tests of this program.
inline const test::Certificates& certificates() {
  static const test::Certificates made;
  return made;
}

class TlsServer {
 public:
  /// @param options of s_server, beside its address; empty = the server's certificate, and echo
  explicit TlsServer(const std::string& options = "") : TlsServer(options, "-rev", "/dev/null") {}
  /// One that does not echo, but sends what it reads from the file.
  static TlsServer speaking(const std::string& input) { return TlsServer("", "", input); }

  [[nodiscard]] Endpoint endpoint() const { return loopback(port_); }
  [[nodiscard]] std::unique_ptr<Stream> open(const TlsSettings& settings = trusting(),
                                             const std::string& host = "127.0.0.1") const {
    // A Tls may go before its streams.
    return open_stream(endpoint(), std::make_unique<Tls>(settings, "redis").get(), host);
  }
  void kill() { process_.kill(); }

  static TlsSettings trusting() {
    TlsSettings settings;
    settings.ca_file = certificates().ca();
    return settings;
  }

 private:
  TlsServer(const std::string& options, const std::string& mode, const std::string& input) {
    const std::string identity = options.find("-cert ") != std::string::npos
                                     ? ""
                                     : " -cert " + certificates().server_certificate();
    process_ = model::Process::spawn(
        "/bin/sh", {"-c", "exec openssl s_server -accept 127.0.0.1:0 " + mode + identity +
                              " -key " + certificates().server_key() + " " + options + " >'" +
                              log() + "' 2>&1 <'" + input + "'"});
    // A whole line: "ACCEPT 127.0.0.1:12345".
    const auto listens = [this] {
      const std::string text = said();
      const std::size_t at = text.find("ACCEPT ");
      const std::size_t end = at == std::string::npos ? at : text.find('\n', at);
      if (end == std::string::npos) return false;
      const std::size_t colon = text.rfind(':', end);
      port_ = static_cast<std::uint16_t>(std::stoi(text.substr(colon + 1, end - colon - 1)));
      return true;
    };
    if (!test::eventually(listens)) throw std::runtime_error("s_server: " + said());
  }
  [[nodiscard]] std::string log() const { return directory_.file("log"); }
  [[nodiscard]] std::string said() const { return test::text_of(log()); }

  model::TemporaryDirectory directory_;
  model::Process process_;
  std::uint16_t port_ = 0;
};

}  // namespace mortise::remote
