// SPDX-License-Identifier: MIT
// RedMutex of redis-plus-plus, the high-level one of its two: scripts, and a LockWatcher that
// renews. The watcher is shared, as its documentation advises for many locks. Each lock() makes a
// new RedMutex, as there: the watcher would watch a RedMutex that is locked again twice, until its
// old turn comes.
#include "peer.hpp"

#include <sw/redis++/patterns/redlock.h>
#include <sw/redis++/redis++.h>

#include <optional>
#include <stdexcept>
#include <utility>

namespace peers {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t connections = 32;  // one per thread, or the threads wait for each other
constexpr auto lease = 30s;              // as the others; its default is 3 s

class RedMutexHandle final : public Handle {
 public:
  RedMutexHandle(std::shared_ptr<sw::redis::Redis> redis,
                 std::shared_ptr<sw::redis::LockWatcher> watcher, std::string name)
      : redis_(std::move(redis)), watcher_(std::move(watcher)), name_(std::move(name)) {}

  void lock() override { renew().lock(); }
  bool try_lock() override { return renew().try_lock(); }
  void unlock() override { mutex_->unlock(); }
  /// lock() sleeps up to 5 ms first, which would be half a minute for 10,000 names.
  void take() override {
    if (!try_lock()) throw std::runtime_error("somebody holds what should be free");
  }

 private:
  sw::redis::RedMutex& renew() {
    sw::redis::RedMutexOptions options;
    options.ttl = lease;
    return mutex_.emplace(redis_, name_, nullptr, options, watcher_);
  }

  std::shared_ptr<sw::redis::Redis> redis_;
  std::shared_ptr<sw::redis::LockWatcher> watcher_;
  std::string name_;
  std::optional<sw::redis::RedMutex> mutex_;
};

class RedisPlusPlusPeer final : public Peer {
 public:
  explicit RedisPlusPlusPeer(const std::string& url) : url_(url) {
    redis_ = std::make_shared<sw::redis::Redis>(url + "?pool_size=" + std::to_string(connections));
    redis_->ping();
  }

  std::unique_ptr<Handle> handle(const std::string& name) override {
    return std::make_unique<RedMutexHandle>(redis_, watcher_, name);
  }
  std::unique_ptr<Peer> another() override { return std::make_unique<RedisPlusPlusPeer>(url_); }
  /// 1.3.15 sleeps for 0 to 5 ms at random and ignores `retry_delay` (100 ms).
  [[nodiscard]] std::chrono::microseconds period() const override { return 2500us; }

 private:
  std::string url_;
  std::shared_ptr<sw::redis::Redis> redis_;
  std::shared_ptr<sw::redis::LockWatcher> watcher_ = std::make_shared<sw::redis::LockWatcher>();
};

}  // namespace

std::unique_ptr<Peer> make_peer(const std::string& url) {
  std::string tcp = url;
  if (tcp.rfind("redis://", 0) == 0) tcp.replace(0, 5, "tcp");
  return std::make_unique<RedisPlusPlusPeer>(tcp);
}

}  // namespace peers
