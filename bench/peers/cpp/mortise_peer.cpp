// SPDX-License-Identifier: MIT
// Mortise with its defaults: the watchdog renews each lock.
#include <mortise/mortise.hpp>

#include "peer.hpp"

#include <stdexcept>
#include <utility>

namespace peers {
namespace {

using namespace std::chrono_literals;

constexpr auto to_connect = 10s;

class MortiseHandle final : public Handle {
 public:
  explicit MortiseHandle(mortise::Lock lock) : lock_(std::move(lock)) {}

  void lock() override { lock_.lock(); }
  bool try_lock() override { return lock_.try_lock(); }
  void unlock() override { lock_.unlock(); }
  void drop() override {
    if (lock_.release() != mortise::Released::released) throw std::runtime_error("a hold was lost");
  }

 private:
  mortise::Lock lock_;
};

class MortisePeer final : public Peer {
 public:
  explicit MortisePeer(std::string url) : url_(std::move(url)), client_(url_) {
    client_.check(to_connect);
  }

  std::unique_ptr<Handle> handle(const std::string& name) override {
    return std::make_unique<MortiseHandle>(client_.make_lock(name));
  }
  std::unique_ptr<Peer> another() override { return std::make_unique<MortisePeer>(url_); }

 private:
  std::string url_;
  mortise::Client client_;
};

}  // namespace

std::unique_ptr<Peer> make_peer(const std::string& url) {
  return std::make_unique<MortisePeer>(url);
}

}  // namespace peers
