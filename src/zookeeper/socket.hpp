// SPDX-License-Identifier: MIT
// The socket of one session, plain or over TLS, as the C client sees it: it never blocks, and the C
// client knows nothing of TLS.
#pragma once

#include <mortise/clock.hpp>
#include <mortise/error.hpp>

#include "base/unique_fd.hpp"
#include "remote/stream/stream.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::zookeeper {

/// The hosts of the URL that lead to an address, which is as the C client connects to it: a
/// server's certificate has to be for one of them.
using Hosts = std::map<std::string, std::vector<std::string>>;

/// The names that certificates have to be for.
class ServerNames {
 public:
  /// @param tls outlives it; null = not encrypted
  explicit ServerNames(const remote::Tls* tls) noexcept : tls_(tls) {}
  [[nodiscard]] const remote::Tls* tls() const noexcept { return tls_; }
  void set(Hosts hosts) noexcept { hosts_ = std::move(hosts); }
  /// @return the host for the next connection to that address. Several hosts may lead to one
  /// address, if a proxy in front of the servers goes by the name that is asked for: each has its
  /// turn.
  [[nodiscard]] std::string next(const std::string& endpoint);

 private:
  const remote::Tls* tls_;
  Hosts hosts_;
};

/// One socket of the C client at a time.
/// @thread_safety one thread at a time
class Socket {
 public:
  /// @param tls outlives it; null = not encrypted
  explicit Socket(const remote::Tls* tls) noexcept : names_(tls) {}
  void set_hosts(Hosts hosts) noexcept { names_.set(std::move(hosts)); }

  /// Goes on connecting, and shaking hands. @return true if that has come to an end, even to a bad
  /// one: the C client learns nothing of a connection that is not encrypted yet
  [[nodiscard]] bool advance() noexcept;
  /// @return true if the server has answered a step of the connection since the last call.
  [[nodiscard]] bool take_progress() noexcept { return stream_ && stream_->take_progress(); }
  /// Has the next look of the C client find the connection broken.
  void mark_broken(int error) noexcept;

  [[nodiscard]] bool is_open() const noexcept { return socket_ || stream_; }
  /// @return true if `advance()` has nothing to do any more.
  [[nodiscard]] bool settled() const noexcept { return state_ != State::connecting; }
  /// @return what to poll for while it is not settled, or next to POLLIN afterwards.
  [[nodiscard]] short interest() const noexcept { return stream_ ? stream_->interest() : short{0}; }
  /// @return true if the socket takes no more bytes now.
  [[nodiscard]] bool blocked() const noexcept { return is_blocked_; }
  /// @return the errno of the last failure; 0 = none. Cleared by a new socket.
  [[nodiscard]] int error() const noexcept { return error_; }
  /// @return the words of it, if it has any besides that number.
  [[nodiscard]] const Failure& why() const noexcept { return why_; }
  /// @return the address and port to which it connected last; empty = none yet.
  [[nodiscard]] const std::string& endpoint() const noexcept { return endpoint_; }
  /// @return true if the server has closed the connection instead of answering the greeting.
  [[nodiscard]] bool turned_away() const noexcept { return is_turned_away_; }
  /// Keeps its descriptor open although the C client closes it, for the farewell.
  void keep_open() noexcept { is_kept_ = true; }

  // What the C client calls. `int` and `errno` as the system's.
  int open_socket(int family, int type, int protocol) noexcept;
  int connect_socket(const void* address, unsigned length) noexcept;
  int close_socket() noexcept;
  int get_option(int level, int name, void* value, unsigned* length) noexcept;
  [[nodiscard]] bool owns(int fd) const noexcept { return fd >= 0 && fd == number_; }

 protected:
  [[nodiscard]] bool is_connected() const noexcept { return state_ == State::connected; }
  [[nodiscard]] bool has_ended() const noexcept { return state_ == State::ended; }
  /// @return true if the C client has not closed it.
  [[nodiscard]] bool is_in_use() const noexcept { return number_ >= 0; }
  /// @return how many of these bytes the socket has taken.
  [[nodiscard]] std::size_t write(std::string_view bytes) noexcept;
  /// Appends what has come. @return true if there may be more
  [[nodiscard]] bool read(std::string& bytes);
  void fail(int error) noexcept;
  /// @return the events that have come by then; 0 = none.
  [[nodiscard]] short wait(Instant until) const noexcept;
  void drop() noexcept;

 private:
  enum class State : std::uint8_t {
    connecting,  ///< to the server, and shaking hands
    connected,
    ended,  ///< no byte is sent or received any more
  };
  void fail_with_stream(remote::Stream::Status status) noexcept;

  ServerNames names_;
  base::UniqueFd socket_;  // until it connects
  std::unique_ptr<remote::Stream> stream_;
  std::string endpoint_;
  State state_ = State::connecting;
  int number_ = -1;  // as the C client knows it
  bool is_kept_ = false;
  bool is_blocked_ = false;
  bool has_received_ = false;  // a byte
  bool is_turned_away_ = false;
  int error_ = 0;
  Failure why_{};
};

}  // namespace mortise::zookeeper
