// SPDX-License-Identifier: MIT
// A fault test whose clients reach their server through a proxy, and a look at whether what a
// client believes is what the server knows.
#pragma once

#include "fault/redis_fixture.hpp"

namespace mortise::fault {

template <class Base>
class ProxiedRedis : public Base {
 protected:
  [[nodiscard]] Proxy& proxy() {
    if (!proxy_) proxy_.emplace(this->server().port());
    return *proxy_;
  }
  /// A client whose connections stand.
  [[nodiscard]] Client ready_client() {
    Client mine(proxy().url());
    Lock first = mine.make_lock("first");
    first.lock();
    first.unlock();
    EXPECT_TRUE(eventually([&] { return proxy().connections(Proxy::Connections::inboxes) == 1; }));
    return mine;
  }
  /// What the caller believes, the server must know. Then the lock is given back and free.
  void expect_truth(Lock& lock, bool held, const std::string& about) {
    if (held) {
      EXPECT_TRUE(this->is_held(lock.name())) << about << ": a false hold";
      EXPECT_GT(lock.valid_for(), 0ns) << about;
      EXPECT_TRUE(lock.token()) << about;
      lock.unlock();
    }
    // Far sooner than by its lease.
    EXPECT_TRUE(eventually([&] { return !this->is_held(lock.name()); }, 2s))
        << about << ": left behind";
    EXPECT_EQ(this->waiting(lock.name()), 0U) << about;
  }

 private:
  std::optional<Proxy> proxy_;
};
using ProxiedRedisTest = ProxiedRedis<RedisTest>;

}  // namespace mortise::fault
