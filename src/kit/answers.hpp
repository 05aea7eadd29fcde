// SPDX-License-Identifier: MIT
// The meaning of the messages of a server: answers to calls, and pushed grants.
#pragma once

#include <mortise/backend.hpp>
#include <mortise/remote/message.hpp>

#include "kit/call_writer.hpp"

#include <cstdint>
#include <memory>
#include <mutex>

namespace mortise::kit {

/// @thread_safety one thread at a time: the one that polls the connection
class Answers {
 public:
  using Message = remote::Message;

  /// All of it outlives this.
  struct Parts {
    Clock& clock;
    const Destination& destination;
    std::mutex& mutex;  ///< of the attempts
    Attempts& attempts;
    Exchange& exchange;
    Connection& connection;
    Server& server;
    remote::Polling& polling;
  };
  explicit Answers(const Parts& parts) : parts_(parts) {}

  void answered(const Call& call, const Message& message);
  /// The name was handed over to an attempt that waited.
  void handed_over(const Message& message);

 private:
  void about_attempt(const Call& call, const Message& message);
  void looked(const Call& call, const Message& message);
  void granted(const Call& call, const Message& message);
  void not_granted(const Call& call, const Message& message);
  void waits(const Call& call, const Message& message);
  void released(const Call& call, const Message& message);
  void renewed(const Call& call, const Message& message);
  void asked(const Call& call, const Message& message);
  void executed(const AttemptId& attempt, const Message& message);
  void nonsense(const Call& call);

  const Parts parts_;
};

}  // namespace mortise::kit
