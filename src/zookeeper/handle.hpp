// SPDX-License-Identifier: MIT
// One session of the ZooKeeper C client: the only file, with its source, that touches that library.
// Asynchronous requests out, replies and events in; it knows nothing of locks, and never blocks.
#pragma once

#include <mortise/clock.hpp>

#include "zookeeper/queue.hpp"
#include "zookeeper/wire.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

struct _zhandle;  // NOLINT(bugprone-reserved-identifier): the C client's

namespace mortise::zookeeper {

/// What a request came to.
enum class Code : std::uint8_t {
  ok,
  no_node,
  exists,
  not_empty,
  other_version,  ///< the node is there
  denied,         ///< the node's ACL
  no_user,        ///< the server serves none but users whom it knows, and ends the connection
  ephemeral,      ///< the parent is a node that may have no children
  local,          ///< the session is a local one, which may own no ephemeral nodes
  quota,
  unsupported,
  not_done,  ///< throttled or sent to the wrong server: not executed, may be repeated
  unknown,   ///< the connection broke: executed or not
  ended,     ///< with the session
  wrong,     ///< anything else
};

struct Reply {
  Code code = Code::unknown;
  int number = 0;              ///< ZooKeeper's own, for messages
  std::string_view text{};     ///< the (first) path that was made, or a node's data
  const Children* children{};  ///< of a list
  std::int64_t czxid = 0;      ///< of the node: when it was made
  std::int64_t mzxid = 0;      ///< ... and when its data was written
  std::int64_t ctime = 0;      ///< when it was made, by the leader's clock, as the next
  std::int64_t mtime = 0;      ///< the same by the leader's clock, in milliseconds since 1970
  std::int32_t version = 0;    ///< of its data
  std::int64_t owner = 0;      ///< the session of an ephemeral node
};

/// @return true if the request may have been executed or not.
[[nodiscard]] inline bool is_lost(Code code) noexcept {
  return code == Code::unknown || code == Code::ended;
}
/// @return true if the server executed the request, or will never do so.
[[nodiscard]] inline bool is_answer(Code code) noexcept {
  return !is_lost(code) && code != Code::not_done;
}
/// @return the children of a node; none if there is no node.
[[nodiscard]] inline Children children_of(const Reply& reply) {
  return reply.children != nullptr ? *reply.children : Children();
}

/// One of several writes that are done in one, or not at all.
struct Write {
  enum class Kind : std::uint8_t { create, create_ephemeral, create_own, set, remove, check };
  Kind kind = Kind::check;
  /// `create_ephemeral`: its beginning, a number follows; `create_own`: ephemeral, and just that.
  std::string path{};
  std::string data{};                  ///< of those that have any
  std::int32_t version = any_version;  ///< that the node has to have

  static constexpr std::int32_t any_version = -1;
};

/// What `words()` says of a reply: "not authenticated (-102)".
[[nodiscard]] std::string words_of(const Reply& reply);

/// @thread_safety one thread at a time; the user is called from inside `process()`, `prepare()` and
/// the destructor only, and may send requests meanwhile.
class Handle {
 public:
  class User {
   public:
    virtual ~User() = default;
    virtual void connected() = 0;
    virtual void disconnected() = 0;
    virtual void expired() = 0;
    virtual void refused() = 0;  ///< the credentials
    virtual void replied(std::uint64_t call, const Reply& reply) = 0;
    /// A watched node has gone, or has changed; or one below it has come or gone.
    virtual void watched(std::string_view path, bool gone) = 0;
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

  // Requests. Each is answered by `replied()` with its `call`, unless it returns false: not sent,
  // since the session is over, or the path is none.
  bool create_ephemeral(const std::string& prefix, std::string_view data, std::uint64_t call);
  bool create_parent(const std::string& path, bool container, std::string_view data,
                     std::uint64_t call);
  bool remove(const std::string& path, std::uint64_t call);
  /// @param watch the next one that comes or goes is told by `watched()`
  bool list(const std::string& path, bool watch, std::uint64_t call);
  bool get(const std::string& path, bool watch, std::uint64_t call);
  bool exists(const std::string& path, std::uint64_t call);
  bool sync(const std::string& path, std::uint64_t call);
  /// Replaces a node's data.
  bool set(const std::string& path, std::string_view data, std::uint64_t call);
  /// All of them, or none: the code is that of the first that cannot be.
  bool write(std::vector<Write> writes, std::uint64_t call);
  /// A write that changes nothing and wakes nobody, whether the node is there or not:
  /// `other_version` or `no_node`. The leader has it committed as it has any other, because the
  /// refusal depends on what was written before.
  bool refused_write(const std::string& path, std::uint64_t call);
  /// Ends the watch of a node.
  bool unwatch(const std::string& path, std::uint64_t call);

  struct Prepared {
    bool failed = false;  ///< there is no connection, and none on its way
    Instant again{};      ///< when to prepare again
  };
  /// Begins to connect where it is not, sends pings, looks for silence.
  Prepared prepare(Instant now);
  /// Handles what the socket is ready for.
  void process(short events);
  /// Sends what was asked for.
  void flush() noexcept { wire_.flush(); }
  /// See `Wire::hide_seen()`.
  void hide_seen(bool hides) noexcept { wire_.hide_seen(hides); }
  /// Has the connection made anew.
  void mark_broken(int error);
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
  bool process_frame(int events);

  User& user_;
  Wire wire_;
  _zhandle* handle_ = nullptr;
  bool creator_only_;
  int descriptor_ = -1;
  int wanted_ = 0;
  // Where the C client puts its answers: by the request.
  std::unordered_map<std::uint64_t, std::unique_ptr<Writing>> writings_;
};

}  // namespace mortise::zookeeper
