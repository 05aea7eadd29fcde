// SPDX-License-Identifier: MIT
// One session of the ZooKeeper C client: the only file, with its source, that touches that library.
// Asynchronous requests out, replies and events in; it knows nothing of locks, and never blocks.
#pragma once

#include <mortise/clock.hpp>

#include "zookeeper/request.hpp"
#include "zookeeper/wire.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

struct _zhandle;  // NOLINT(bugprone-reserved-identifier): the C client's

namespace mortise::zookeeper {

/// @thread_safety one thread at a time; the user is called from inside `process()`, `prepare()` and
/// the destructor only, and may send requests meanwhile.
class Handle {
 public:
  class User {
   public:
    virtual ~User() = default;
    virtual void replied(std::uint64_t call, const Reply& reply) = 0;
    /// A watched node has gone, or has changed; or one below it has come or gone.
    virtual void watched(std::string_view path, bool gone) = 0;
  };
  /// The last event of the session.
  enum class News : std::uint8_t {
    none,
    up,    ///< there is a connection
    down,  ///< ... no more
    expired,
    refused,  ///< the server refused the credentials
    no_user,  ///< the server serves only users that it knows
  };
  struct Options {
    std::string servers{};      ///< numbers: "10.0.0.1:2181,[::1]:2181"
    const remote::Tls* tls{};   ///< outlives it; null: not encrypted
    Hosts hosts{};              ///< of those servers, where it is encrypted
    std::string credentials{};  ///< "user:password" of the digest scheme; empty: none
    bool creator_only = false;
    std::chrono::milliseconds session{};
  };

  /// @throws Error (`exhausted`, `misconfigured`)
  Handle(const Options& options, User& user);
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  /// Drops the session without a word, unless `end()` was called.
  ~Handle();

  /// @return false: not sent, because the session is over, or the path is invalid. Otherwise
  /// `replied()` follows, with that `call`
  bool send(const Request& request, std::uint64_t call);
  /// @return the last event, once.
  [[nodiscard]] News take_news() noexcept { return std::exchange(news_, News::none); }

  struct Prepared {
    bool failed = false;  ///< there is no connection, and none on its way
    Instant again{};      ///< when to prepare again
  };
  /// Begins to connect where it is not, sends pings, looks for silence.
  Prepared prepare(Instant now);
  /// Handles what the socket is ready for.
  void process(short events);
  /// See `Socket::take_progress()`.
  [[nodiscard]] bool take_progress() noexcept { return wire_.take_progress(); }
  /// Sends what was asked for.
  void flush() noexcept { wire_.flush(); }
  /// See `Wire::hide_seen()`.
  void hide_seen(bool hides) noexcept { wire_.hide_seen(hides); }
  /// The next `process()` finds the connection broken.
  void mark_broken(int error) noexcept { wire_.mark_broken(error); }
  /// Only while it is disconnected: otherwise the C client loses track of its requests.
  void set_servers(const std::string& servers, Hosts hosts);
  /// Ends the session at the server, which frees what it owns; nothing but `farewell()` may follow.
  void end() noexcept;
  /// Waits until then for the server to confirm that.
  void farewell(Instant until) noexcept;

  [[nodiscard]] int descriptor() const noexcept;
  [[nodiscard]] short interest() const noexcept;
  [[nodiscard]] const Wire& wire() const noexcept { return wire_; }
  [[nodiscard]] std::int64_t session_id() const noexcept;
  /// @return the negotiated time-out.
  [[nodiscard]] std::chrono::milliseconds session_timeout() const noexcept;

 private:
  struct Callbacks;
  struct Writing;
  bool send_several(const std::vector<Request>& parts, std::uint64_t call);
  void note(News news) noexcept;

  User& user_;
  Wire wire_;
  _zhandle* handle_ = nullptr;
  const bool creator_only_;
  std::string servers_;
  News news_ = News::none;
  int descriptor_ = -1;
  int wanted_ = 0;
  // Where the C client puts its answers: by the request.
  std::unordered_map<std::uint64_t, std::unique_ptr<Writing>> writings_;
};

}  // namespace mortise::zookeeper
