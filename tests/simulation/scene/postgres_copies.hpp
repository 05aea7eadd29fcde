// SPDX-License-Identifier: MIT
// A server is slower than a client's patience: each request comes to an answer when it was asked
// once more by another connection. What is asked again, for the late answers, by the caller and for
// each connection that does not answer, must not become more and more (the requests of a client are
// as many as the connections that it has, and grow with the time that passes, not with themselves).
// What is slow is taking a lock, and then giving it back.
#pragma once

#include "simulation/scene/postgres_trial.hpp"

namespace simulation {

class PostgresCopies {
 public:
  explicit PostgresCopies(PostgresTrial& trial) : trial_(trial) {}
  /// Runs the world until it is over.
  void come();

 private:
  /// @param takes taking a lock is; else giving it back
  void be_slow(bool takes);
  void be_quick(const char* what, Nanos slow_time, int most);

  PostgresTrial& trial_;
  int requests_ = 0;  // for what is slow
};

}  // namespace simulation
