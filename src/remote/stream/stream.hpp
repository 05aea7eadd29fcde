// SPDX-License-Identifier: MIT
// One connection as a non-blocking stream of bytes, plain or encrypted. It knows nothing of what
// the bytes mean, nor of time: whoever drives it has the time-outs.
#pragma once

#include <mortise/error.hpp>

#include "base/resolver.hpp"
#include "base/unique_fd.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace mortise::remote {

using base::Endpoint;

class Tls;

/// The message for a TLS handshake without a reply. A server without TLS takes the hello of TLS for
/// a request of its own protocol, and waits for the rest of it, or closes the connection.
inline constexpr const char* no_handshake =
    "the server did not answer the TLS handshake in time; is this a TLS port?";
inline constexpr const char* no_port_for_tls = "; is this a TLS port?";
/// The end of a message if a server closes a connection without TLS before it has sent anything. A
/// port for TLS does this.
inline constexpr const char* perhaps_for_tls = " before it sent anything; is this a TLS port?";

/// @thread_safety `read()` and `write()` may run at the same time on two threads, each by one at a
/// time; `advance()` and the destructor need exclusion.
class Stream {
 public:
  /// What a call came to.
  enum class Status { done, again, closed, failed };
  struct Moved {
    Status status = Status::done;
    std::size_t bytes = 0;  ///< with `done`, at least 1
  };

  virtual ~Stream() = default;
  [[nodiscard]] virtual int descriptor() const noexcept = 0;
  /// Goes on connecting and shaking hands. @return `done` = connected; `again` = call again when
  /// `interest()` has come; `closed`, `failed` = see `failure()`
  [[nodiscard]] virtual Status advance() = 0;
  /// @return whether it is connected, and waits for the other side to shake hands.
  [[nodiscard]] virtual bool shakes_hands() const noexcept { return false; }
  /// @return true if the other side has accepted the connection, or has sent a part of the
  /// handshake, in an `advance()` since the last call.
  [[nodiscard]] virtual bool take_progress() noexcept { return false; }
  /// @return what to poll for while `advance()` is not `done`, or beside POLLIN afterwards (a TLS
  /// read may have to write).
  [[nodiscard]] virtual short interest() const noexcept = 0;
  /// Takes what has arrived. Where that filled `into`, there may be more that no poll tells of.
  [[nodiscard]] virtual Moved read(std::span<char> into) = 0;
  /// The same, but sleeps a few milliseconds for the first byte: one system call, where polling and
  /// reading are two. @return `again` at once where the stream cannot do that
  [[nodiscard]] virtual Moved read_soon(std::span<char> into) {
    static_cast<void>(into);
    return {Status::again};
  }
  /// After `again` the next call has to begin with the same bytes; more may follow them.
  [[nodiscard]] virtual Moved write(std::span<const char> from) = 0;
  /// @return why the last call failed: `unavailable` for the network, `denied` for a certificate
  /// that is not trusted or a client certificate that is refused, `misconfigured` for a server that
  /// answers TLS with text.
  [[nodiscard]] virtual Failure failure() const = 0;
  /// @return the endpoint it leads to.
  [[nodiscard]] virtual const Endpoint& endpoint() const noexcept = 0;
};

/// Begins to connect; never blocks, never raises SIGPIPE. Bytes that could not be sent are dropped
/// when it is destroyed (SO_LINGER 0), so that nothing of a dropped connection arrives late.
/// @param tls null = not encrypted
/// @param host what the certificate has to be for
/// @throws nothing: a socket that cannot be made shows in `advance()`
[[nodiscard]] std::unique_ptr<Stream> open_stream(const Endpoint& endpoint, const Tls* tls,
                                                  const std::string& host);
/// What becomes of bytes that could not be sent when a stream ends.
enum class Unsent { dropped, arrives };
/// The same over a socket that connects already, or is connected.
[[nodiscard]] std::unique_ptr<Stream> adopt_stream(base::UniqueFd socket, const Endpoint& endpoint,
                                                   Unsent unsent, const Tls* tls,
                                                   const std::string& host);

}  // namespace mortise::remote
