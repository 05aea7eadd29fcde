// SPDX-License-Identifier: MIT
// For authors of stores: the messages of a server, as `Protocol::read()` returns them.
#pragma once

#include <mortise/error.hpp>
#include <mortise/export.hpp>
#include <mortise/holder.hpp>
#include <mortise/operation.hpp>
#include <mortise/remote/server_time.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mortise::remote {

/// One message of a server: the answer to the oldest request without an answer, or a push.
///
/// A server answers the requests of one connection in the order in which they arrived. It may send
/// a push between two answers.
struct Message {
  enum class Kind : std::uint8_t {
    /// Answers `greet()`. Fields: `server`, `now`.
    greeting,
    /// Answers `take()` and `cancel()`: the attempt holds the name. Fields: `now`, `number`,
    /// `left`.
    granted,
    /// Answers `take()`: another client holds the name, and the attempt is in the queue. Fields:
    /// `now`, `holder`.
    queued,
    /// Answers `take()` and `cancel()`: the attempt holds nothing, and is not in the queue. Fields:
    /// `now`, `holder`.
    busy,
    /// Answers `take()`: the request arrived after its void moment, so the server did nothing.
    /// Field: `now`.
    expired,
    /// Answers `renew()`. Field: `renewed`.
    renewed,
    /// Answers `release()`: the request has ended the hold. Field: `now`.
    released,
    /// Answers `release()`: an earlier `release()` of this hold has ended it, and no client was
    /// granted the name since. A server that does not know this answers `absent`. Field: `now`.
    released_before,
    /// Answers `release()`: the server has no such hold. Field: `now`.
    absent,
    /// Answers `inspect()`. Fields: `now`, `holder` (empty: the name is free).
    holder,
    /// Answers any request: the server did nothing. Field: `why`. After `denied`, `misconfigured`,
    /// `unsupported` and `protocol` the caller gets the error. After any other code the client
    /// repeats the request if it can.
    refused,
    /// A push: a release has handed the name to an attempt that was in the queue. Fields: `now`,
    /// `name`, `attempt`, `number`, `left`.
    handed_over,
  };

  Kind kind = Kind::refused;
  /// The server's clock while it executed the request, or made the push.
  ServerTime now{};
  /// The number of the grant, from 1 to 2^53 - 1. It is larger than the number of every earlier
  /// grant of the name.
  std::uint64_t number = 0;
  /// The rest of the lease at the moment `now`; more than zero. A new hold has its whole lease: the
  /// library renews one that is shorter, even if its user asked for a lock that is not renewed.
  std::chrono::nanoseconds left{};
  /// The holder of the name, as far as the server reports it.
  std::optional<Holder> holder{};
  /// One answer per hold, in the order of the request.
  std::vector<Renewal::Answer> renewed{};
  /// Identifies one start of one server: random text that the server makes when it starts. If two
  /// starts have the same text, two clients can hold a name. Empty text is refused.
  std::string server{};
  std::string name{};
  AttemptId attempt{};
  /// The place and the reason need not be in the text: the client adds the address of the server.
  Failure why{};
};

}  // namespace mortise::remote
