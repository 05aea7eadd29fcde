// SPDX-License-Identifier: MIT
// The sources of a client of a store, which the library polls from the first request to close().
// One alarm is for all moments at which the client has to do something by itself; the others are
// the connections. And how long close() waits for the servers.
#pragma once

#include <mortise/backend.hpp>

#include <atomic>
#include <mutex>
#include <vector>

namespace mortise::remote {

/// The alarm is this source. A store adds `due()` and `ready()`.
/// @thread_safety every member may be called concurrently
class Polling : public Source {
 public:
  /// @param host outlives it
  explicit Polling(Host& host) noexcept : host_(host) {}

  /// Call this with each request. May throw: the next request tries again.
  /// @return false: the client is closed
  [[nodiscard]] bool begin();
  /// The same with the operation of the request.
  /// @return false: it is complete, because it was, or because the client is closed
  /// @param words returns the store in words, for messages
  template <class Words>
  [[nodiscard]] bool begin(Operation& operation, Words words) {
    if (operation.done()) return false;
    if (begin()) return true;
    operation.failed({Errc::closed, words()});
    return false;
  }
  /// The alarm is due earlier than before: a thread that sleeps until then has to know.
  void sooner() { host_.changed(*this); }
  [[nodiscard]] bool is_closed() const noexcept { return is_closed_.load(); }
  /// For close(), when no thread polls any more: waits until the servers have answered what no
  /// caller waits for, for example the cancel of an attempt whose caller has an error. The library
  /// knows nothing of these requests, and they would keep a name from all clients until their
  /// leases end. Takes at most 0.75 s.
  void give_back_the_rest();
  /// Ends the polling. No connection is made from now on. @return false: it was closed before
  [[nodiscard]] bool close() noexcept;

 protected:
  /// Makes or attaches a source, unless the client is closed. close() waits for that.
  template <class Work>
  void unless_closed(Work work) {
    const std::lock_guard lock(mutex_);
    if (!is_closed_.load()) work();
  }

 private:
  /// The first request comes: attaches what is polled from now on besides the alarm. It may be
  /// called again after it has thrown.
  virtual void attach_all() = 0;
  virtual void detach_all() noexcept {}
  /// close() begins to wait: what would be done later is done now.
  virtual void hurry() = 0;
  /// @return true if close() has to wait.
  /// @param in_time a request that leaves after this moment gets no answer before the end
  [[nodiscard]] virtual bool is_any_pending(Instant in_time) = 0;
  /// Adds what close() polls besides the alarm.
  virtual void add_sources(std::vector<Source*>& sources) = 0;

  Host& host_;
  std::mutex mutex_;  // while sources are attached or made
  std::atomic<bool> has_begun_{false};
  std::atomic<bool> is_closed_{false};
};

}  // namespace mortise::remote
