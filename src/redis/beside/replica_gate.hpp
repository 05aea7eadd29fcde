// SPDX-License-Identifier: MIT
// With `replicas=n` what the master says is not the last word.
#pragma once

#include "redis/beside/witness.hpp"
#include "redis/store/parts.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

namespace mortise::redis {

/// Until n replicas have it too, a grant stands at the server for nobody, and a renewal moves no
/// deadline.
/// @thread_safety every member may be called concurrently
class ReplicaGate {
 public:
  using Tell = std::function<void()>;

  /// @param parts, witness outlive it
  ReplicaGate(Parts& parts, Witness& witness) : parts_(parts), witness_(witness) {}

  /// A server has granted it. @param clock that of this server
  /// @param tell tells it to its caller, once replicas have it
  void pass(std::uint64_t clock, const std::shared_ptr<Acquisition>& operation, const Grant& grant,
            Tell tell);
  /// A server has answered it.
  void pass(std::uint64_t clock, const std::shared_ptr<Renewal>& renewal);
  void pass(std::uint64_t clock, const std::shared_ptr<Check>& check);
  /// The client closes: nobody will read what replicas say.
  void close();

 private:
  struct Granted;

  void acknowledged(Granted& granted);
  void not_acknowledged(Granted& granted, const Failure& why);

  Parts& parts_;
  Witness& witness_;
  std::atomic<bool> is_closing_{false};
};

}  // namespace mortise::redis
