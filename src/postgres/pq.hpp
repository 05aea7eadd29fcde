// SPDX-License-Identifier: MIT
// libpq without its headers: a connection of our own that never blocks, one of a user's that may,
// and results. With its part pq_conninfo the only room that knows the C library; it knows nothing
// of locks.
#pragma once

#include "base/unique_fd.hpp"
#include "postgres/arguments.hpp"
#include "postgres/lure.hpp"
#include "postgres/pq_conninfo.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct pg_conn;
struct pg_result;

namespace mortise::postgres {

/// What the server said, or libpq in its place.
struct PqError {
  /// Why libpq itself gave a connection up that still stood: the next try fails in the same way.
  enum class Refusal : char {
    none,
    settings,  ///< TLS: the server has none, or the files for it cannot be used
    password,  ///< the server asks for one, and none is known
  };
  std::string state{};  ///< SQLSTATE; empty: no answer of the server
  std::string words{};
  Refusal refusal = Refusal::none;
  bool at_connect = false;  ///< there was no connection yet
};

/// @return the number that these bytes are, in the order of the network; 8 at most.
[[nodiscard]] std::int64_t integer_of(std::string_view bytes) noexcept;

/// One result. Values are read in binary form; what does not read as expected is nothing.
class Result {
 public:
  enum class Kind {
    rows,     ///< an answer, with or without rows
    error,    ///< the statement failed: see `error()`
    aborted,  ///< not executed, because an earlier one of its transaction failed
    synced,   ///< the transaction of what came before is over
  };
  explicit Result(pg_result* result);
  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] int rows() const noexcept;
  [[nodiscard]] int columns() const noexcept;  ///< none where it is no query's
  [[nodiscard]] std::optional<std::string_view> text(int column) const noexcept;
  [[nodiscard]] std::optional<std::int64_t> integer(int column) const noexcept;
  [[nodiscard]] std::optional<bool> flag(int column) const noexcept;
  [[nodiscard]] PqError error() const;

 private:
  struct Clear {
    void operator()(pg_result* result) const noexcept;
  };
  std::unique_ptr<pg_result, Clear> result_;
  Kind kind_ = Kind::error;
};

/// A connection of our own. Statements are pipelined.
/// @thread_safety one thread at a time
class Pq {
 public:
  enum class Progress { reading, writing, connected, failed };

  /// Begins to connect; does not block, given numeric addresses.
  /// @param connected what is connected already; then the keywords say nothing of where to
  explicit Pq(const Keywords& keywords, base::UniqueFd connected = {});
  ~Pq();
  Pq(const Pq&) = delete;
  Pq& operator=(const Pq&) = delete;

  /// Goes on connecting. @return what to wait for
  [[nodiscard]] Progress advance();
  /// @return why that failed.
  [[nodiscard]] PqError error() const;
  [[nodiscard]] int descriptor() const noexcept;
  /// @return the process id that the server, or a pooler in its place, has told.
  [[nodiscard]] int backend_pid() const noexcept;

  /// Each of these queues one statement. @return false: broken
  [[nodiscard]] bool prepare(const char* name, const std::string& text, const Arguments& like);
  [[nodiscard]] bool run(const std::string& text, const Arguments& arguments = {});
  [[nodiscard]] bool run_prepared(const char* name, const Arguments& arguments);
  /// Ends the transaction of what was queued since the last one.
  [[nodiscard]] bool end_transaction();
  /// The same, and sends it all.
  [[nodiscard]] bool sync() { return end_transaction() && flush(); }
  /// Sends what could not be sent. @return false: broken
  [[nodiscard]] bool flush();
  /// @return whether something waits for the socket to take it.
  [[nodiscard]] bool blocked() const noexcept { return blocked_; }

  /// Takes what has arrived. @return false: broken
  [[nodiscard]] bool receive();
  /// @return the next result that is there; nothing = the rest is under way.
  [[nodiscard]] std::optional<Result> next();
  /// @return whether the server has said, since this was asked last, that it did not wait for a
  /// standby although it should have: what was committed may be lost by a fail-over. It says so
  /// behind the results of a transaction, and in front of its end.
  [[nodiscard]] bool commit_in_doubt() noexcept { return std::exchange(in_doubt_, false); }
  /// @return the payload of a notification that is there.
  [[nodiscard]] std::optional<std::string> notification();
  /// Looks whether a connection that nobody awaits anything from still stands.
  [[nodiscard]] bool stands();
  /// What was sent and is still on its way shall not arrive.
  void abandon() const noexcept;
  /// @return whether all that was sent has reached the other side's kernel: whoever serves the
  /// connection there has it, or will read it, and goes on by itself when this side leaves.
  [[nodiscard]] bool arrived() const noexcept;

 private:
  pg_conn* connection_ = nullptr;
  static void note(void* itself, const pg_result* notice);
  void adopt(Keywords keywords, const base::UniqueFd& connected);

  std::string trouble_;  // why there is no connection to ask
  PqError::Refusal refusal_ = PqError::Refusal::none;
  std::optional<Lure> lure_;  // until it is connected, by a socket that was handed over
  base::SocketIdentity adopted_{};
  base::BorrowedFd descriptor_;
  bool blocked_ = false;
  bool in_doubt_ = false;
};

/// A user's connection: every call blocks.
class UserConnection {
 public:
  explicit UserConnection(pg_conn* connection) noexcept : connection_(connection) {}
  enum class State { idle, in_transaction, failed, unusable };
  [[nodiscard]] State state() const noexcept;
  [[nodiscard]] Result run(const std::string& text, const Arguments& arguments = {});
  /// Commits a transaction that is `in_transaction`. @return nothing: it is committed. Otherwise
  /// why it is not. Without a state the outcome is unknown: the connection is gone.
  [[nodiscard]] std::optional<PqError> commit();

 private:
  pg_conn* connection_;
};

/// Connects, runs a text of several statements, and closes; blocks.
/// @return nothing: done
[[nodiscard]] std::optional<PqError> run_script(const Keywords& keywords, const std::string& text,
                                                std::chrono::milliseconds connect_time);

}  // namespace mortise::postgres
