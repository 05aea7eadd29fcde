// SPDX-License-Identifier: MIT
// The bytes of one session, under the ZooKeeper C client: its socket calls are renamed to those at
// wire_calls.cpp when its archive is prepared (cmake/ZooKeeperClient.cmake). So nothing that
// it does blocks, a flight of requests leaves in one write, its socket is closed in a forked child,
// replies that it could not survive do not reach it, and it knows nothing of TLS.
#pragma once

#include <mortise/clock.hpp>
#include <mortise/error.hpp>

#include "base/unique_fd.hpp"
#include "remote/stream/stream.hpp"

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::zookeeper {

/// The hosts of the URL that lead to an address, which is as the C client connects to it: a
/// server's certificate has to be for one of them.
using Hosts = std::map<std::string, std::vector<std::string>>;

/// One socket of the C client at a time, and what is buffered for it.
/// @thread_safety one thread at a time
class Wire {
 public:
  /// From here to the end of the scope the C client's calls on this thread belong to this wire.
  class Use {
   public:
    explicit Use(Wire& wire) noexcept : before_(in_use) { in_use = &wire; }
    ~Use() { in_use = before_; }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    Wire* before_;
  };
  [[nodiscard]] static Wire* current() noexcept { return in_use; }

  /// @param tls outlives it; null = not encrypted
  explicit Wire(const remote::Tls* tls = nullptr) : tls_(tls) {}
  void set_hosts(Hosts hosts) noexcept { hosts_ = std::move(hosts); }

  /// Goes on connecting, and shaking hands. @return whether that has come to an end, be it a good
  /// one: the C client is to hear of no connection that is not encrypted yet.
  [[nodiscard]] bool advance() noexcept;
  /// Sends what is buffered, as far as the socket takes it.
  void flush() noexcept;
  /// Reads what there is.
  void fill();
  /// Has the next look of the C client find the connection broken.
  void mark_broken(int error) noexcept;
  /// The session ends: sends the rest, and waits for the server to hang up.
  void farewell(Instant until) noexcept;

  [[nodiscard]] bool is_open() const noexcept { return socket_ || stream_; }
  /// @return whether `advance()` has nothing to do any more.
  [[nodiscard]] bool settled() const noexcept { return connected_ || ended_; }
  /// @return whether the server is reached, and has not shaken hands.
  [[nodiscard]] bool shakes_hands() const noexcept { return stream_ && stream_->shakes_hands(); }
  /// @return what to poll for while it is not settled, or beside POLLIN afterwards.
  [[nodiscard]] short interest() const noexcept { return stream_ ? stream_->interest() : short{0}; }
  /// @return whether the C client has something to read: bytes, an end, or an error.
  [[nodiscard]] bool readable() const noexcept;
  /// @return whether the socket takes no more bytes now.
  [[nodiscard]] bool blocked() const noexcept { return blocked_; }
  /// @return whether a ping was sent that is not answered.
  [[nodiscard]] bool awaits_pong() const noexcept { return pings_ > 0; }
  /// @return the errno of the last failure; 0 = none. Cleared by a new socket.
  [[nodiscard]] int error() const noexcept { return error_; }
  /// @return the words of it, where it has any beside that number.
  [[nodiscard]] const Failure& why() const noexcept { return why_; }
  /// @return where it was connected to last, as a number and a port; empty = nowhere yet.
  [[nodiscard]] const std::string& endpoint() const noexcept { return endpoint_; }
  /// @return whether the server has closed the connection instead of answering the greeting.
  [[nodiscard]] bool turned_away() const noexcept { return turned_away_; }
  /// From the next connection on the greeting says that no transaction was seen. A server with less
  /// than the client has seen turns it away; this one gives an answer.
  void hide_seen(bool hides) noexcept { hides_seen_ = hides; }
  /// Keeps its descriptor open although the C client closes it, for `farewell()`.
  void keep_open() noexcept { keeps_ = true; }

  // What the C client calls. `int` and `errno` as the system's.
  int open_socket(int family, int type, int protocol) noexcept;
  int connect_socket(const void* address, unsigned length) noexcept;
  int close_socket() noexcept;
  ssize_t send_bytes(const void* bytes, std::size_t size) noexcept;
  ssize_t receive_bytes(void* into, std::size_t size) noexcept;
  int get_option(int level, int name, void* value, unsigned* length) noexcept;
  [[nodiscard]] bool owns(int fd) const noexcept { return fd >= 0 && fd == number_; }

 private:
  void note_sent_frames();
  [[nodiscard]] bool sound_frames();
  [[nodiscard]] bool sound_frame(std::string_view frame);
  [[nodiscard]] std::string host_of(const base::Endpoint& endpoint);
  void fail(int error) noexcept;
  void fail_with_stream(remote::Stream::Status status) noexcept;
  [[nodiscard]] bool take_leave(std::span<char> rest) noexcept;

  static thread_local Wire* in_use;

  const remote::Tls* tls_;
  Hosts hosts_;
  base::UniqueFd socket_;  // until it connects
  std::unique_ptr<remote::Stream> stream_;
  std::string endpoint_;
  bool connected_ = false;
  int number_ = -1;  // as the C client knows it
  bool keeps_ = false;
  bool blocked_ = false;
  bool turned_away_ = false;
  bool hides_seen_ = false;
  int error_ = 0;
  Failure why_{};
  bool ended_ = false;  // no more bytes will come

  std::string out_;
  std::size_t counted_ = 0;  // of `out_`: frames before this were looked at
  std::uint64_t sent_frames_ = 0;
  struct Request {
    std::int32_t number = 0;
    std::int32_t type = 0;
  };
  std::deque<Request> awaited_;                   // in order
  std::deque<std::vector<std::int32_t>> writes_;  // of those among them that are several in one
  int pings_ = 0;

  std::string in_;
  std::size_t read_ = 0;   // of `in_`: before this the C client has it
  std::size_t sound_ = 0;  // of `in_`: before this whole frames were looked at
  bool greeted_ = false;   // the first frame is the answer to the greeting
};

}  // namespace mortise::zookeeper
