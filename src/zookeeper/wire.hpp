// SPDX-License-Identifier: MIT
// The bytes of one session, under the ZooKeeper C client: its socket calls are renamed to those at
// wire_calls.cpp when its archive is prepared (cmake/ZooKeeperClient.cmake). So nothing that
// it does blocks, a flight of requests leaves in one write, its socket is closed in a forked child,
// replies that it could not survive do not reach it, and it knows nothing of TLS.
#pragma once

#include "zookeeper/frame.hpp"
#include "zookeeper/socket.hpp"

#include <sys/types.h>

#include <cstddef>
#include <string>

namespace mortise::zookeeper {

/// The bytes that a socket has received. The C client gets whole frames only, because one call of
/// it reads one frame.
class ReceivedFrames {
 public:
  /// @return the place for more bytes: they are appended to these.
  [[nodiscard]] std::string& bytes() noexcept;
  /// Looks at the frames that have become whole. @return false: the C client would not survive one
  [[nodiscard]] bool check(AwaitedReplies& awaited);
  [[nodiscard]] bool empty() const noexcept { return taken_ == checked_; }
  /// @return how many bytes it has taken; 0 = there are none.
  std::size_t take(void* into, std::size_t size) noexcept;
  void clear() noexcept;

 private:
  std::string bytes_;
  std::size_t taken_ = 0;    // before this the C client has them
  std::size_t checked_ = 0;  // before this whole frames were looked at
};

/// @thread_safety one thread at a time
class Wire : public Socket {
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
  explicit Wire(const remote::Tls* tls = nullptr) : Socket(tls) {}

  /// Sends what is buffered, as far as the socket takes it.
  void flush() noexcept;
  /// Reads what there is.
  void fill();
  /// The session ends: sends the rest, and waits for the server to hang up.
  void farewell(Instant until) noexcept;

  /// @return true if the C client has something to read: bytes, an end, or an error.
  [[nodiscard]] bool readable() const noexcept;
  [[nodiscard]] bool awaits_pong() const noexcept { return awaited_.awaits_pong(); }
  /// From the next connection on the greeting says that no transaction was seen. A server with less
  /// than the client has seen turns it away; this one gives an answer.
  void hide_seen(bool hides) noexcept { hides_seen_ = hides; }

  // What the C client calls. `int` and `errno` as the system's.
  int open_socket(int family, int type, int protocol) noexcept;
  ssize_t send_bytes(const void* bytes, std::size_t size) noexcept;
  ssize_t receive_bytes(void* into, std::size_t size) noexcept;

 private:
  void note_sent_frames();

  static thread_local Wire* in_use;

  bool hides_seen_ = false;
  std::string out_;
  std::size_t counted_ = 0;  // of `out_`: frames before this were looked at
  ReceivedFrames in_;
  AwaitedReplies awaited_;
};

}  // namespace mortise::zookeeper
