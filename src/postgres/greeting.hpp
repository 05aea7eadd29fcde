// SPDX-License-Identifier: MIT
// The first statements of a connection: which server this is, whether a client may use it, and its
// preparation.
#pragma once

#include <mortise/clock.hpp>

#include "postgres/answer.hpp"
#include "postgres/lineage.hpp"
#include "postgres/pq.hpp"
#include "postgres/server_error.hpp"
#include "postgres/settings.hpp"
#include "postgres/statements.hpp"

#include <optional>
#include <string>
#include <utility>

namespace mortise::postgres {

/// @thread_safety one thread at a time
class Greeting {
 public:
  /// @param listen the statement by which the connection listens; empty = a connection for calls
  /// @param settings, statements, lineage outlive it
  Greeting(const Settings& settings, const Statements& statements, Lineage& lineage,
           std::string listen)
      : settings_(settings),
        statements_(statements),
        lineage_(lineage),
        listen_(std::move(listen)) {}

  enum class Step : char {
    goes_on,  ///< unless it `is_over()`
    met,      ///< the same, and `facts()` and `is_pooled()` are known by now
    refused,  ///< see `error()`
  };

  [[nodiscard]] bool listens() const noexcept { return !listen_.empty(); }
  /// Begins. @return false: the connection is of no use
  [[nodiscard]] bool begin(Pq& pq, Instant now);
  /// Reads what has come. @param where the server, for messages
  [[nodiscard]] Step receive(Pq& pq, const std::string& where);
  /// @return true if nothing more has to come: calls can be sent.
  [[nodiscard]] bool is_over() const noexcept { return is_over_; }
  /// @return when it began.
  [[nodiscard]] Instant begun() const noexcept { return begun_; }
  [[nodiscard]] const ServerFacts& facts() const noexcept { return facts_; }
  [[nodiscard]] bool is_pooled() const noexcept { return is_pooled_; }
  /// After `met`. @return true if that server has taken the place of those before
  [[nodiscard]] bool replaces() { return lineage_.follow(facts_.whereabouts); }
  /// @return true if that server was replaced by one that was met.
  [[nodiscard]] bool is_outdated(const Whereabouts& server) const {
    return lineage_.outdated(server);
  }
  /// @return why the server is refused; nothing = the connection is of no use
  [[nodiscard]] const std::optional<ServerError>& error() const noexcept { return error_; }

 private:
  [[nodiscard]] Step refuse(ServerError::Kind kind, Errc code, std::string words);
  [[nodiscard]] Step answered(Pq& pq, const std::string& where);
  [[nodiscard]] Step judge(const std::string& where);
  [[nodiscard]] bool prepare(Pq& pq);

  const Settings& settings_;
  const Statements& statements_;
  Lineage& lineage_;
  const std::string listen_;
  std::optional<Result> result_;  // of several the first error, and of none the first rows
  bool is_prepared_ = false;      // the second half has left
  bool is_over_ = false;
  Instant begun_{};
  bool is_pooled_ = false;
  ServerFacts facts_{};
  std::optional<ServerError> error_;
};

}  // namespace mortise::postgres
