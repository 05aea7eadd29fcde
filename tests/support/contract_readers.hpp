// SPDX-License-Identifier: MIT
// What the tests of readers and writers share: whether somebody else could have the name, and
// somebody who waits for it.
#pragma once

#include "support/contract_suites.hpp"

#include <future>

namespace mortise::contract {

inline const LockOptions reading{.mode = Mode::shared};

/// @return whether that handle can be had just now; it is given back.
inline bool can_have(Client& client, const LockOptions& options) {
  Lock lock = client.make_lock("name", options);
  Worker somebody;
  return somebody.run([&] {
    const bool got = lock.try_lock();
    if (got) lock.unlock();
    return got;
  });
}
inline bool readable(Client& client) { return can_have(client, reading); }
inline bool writable(Client& client) { return can_have(client, {}); }

/// A thread that waits for the lock and has it until it is told to end.
class Somebody {
 public:
  explicit Somebody(Client& client, const LockOptions& options = {})
      : lock_(client.make_lock("name", options)) {}
  ~Somebody() { end(); }
  Somebody(const Somebody&) = delete;
  Somebody& operator=(const Somebody&) = delete;
  /// It asks; returns when it has the lock, or sleeps.
  void ask() {
    got_ = worker_.start([this] {
      lock_.lock();
      has_.set();
      static_cast<void>(ends_.wait());
      token_ = lock_.token();
      lock_.unlock();
    });
    static_cast<void>(eventually([&] { return has_.is_set() || worker_.falls_asleep(); }));
  }
  /// It asks, and is served at once. (Whoever waits for an answer of the server sleeps, too.)
  [[nodiscard]] bool takes() {
    ask();
    return served();
  }
  [[nodiscard]] bool has() const { return has_.is_set(); }
  [[nodiscard]] bool served() const { return has_.wait(); }
  /// @return the token that it had.
  Token end() {
    ends_.set();
    if (got_.valid()) got_.get();
    return token_;
  }

 private:
  Lock lock_;
  Signal has_;
  Signal ends_;
  Token token_;
  std::future<void> got_;
  Worker worker_;
};

}  // namespace mortise::contract
