// SPDX-License-Identifier: MIT
// A client's side of a memory server: its connection, on which messages are delayed or lost, and
// the attempts that wait for an answer or a push, or were granted.
#pragma once

#include <mortise/backend.hpp>

#include "memory/store.hpp"

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace mortise::memory {

/// @thread_safety every member may be called concurrently. The mutex is never held while the store,
/// the host or an operation is called.
class Link final : public Source, public std::enable_shared_from_this<Link> {
 public:
  Link(std::shared_ptr<Store> store, std::string name)
      : store_(std::move(store)), name_(std::move(name)) {}

  void start(Host& host);
  void stop() noexcept;

  void acquire(const std::shared_ptr<Acquisition>& operation);
  void cancel(const std::shared_ptr<Acquisition>& operation);
  void renew(const std::shared_ptr<Renewal>& operation);
  void release(const std::shared_ptr<Release>& operation);
  void inspect(const std::shared_ptr<Inspection>& operation);
  void recall(const std::shared_ptr<Recollection>& operation);
  void list(const std::shared_ptr<Listing>& operation);
  void queue(const std::shared_ptr<QueueLook>& operation);
  void check(const std::shared_ptr<Check>& operation);
  /// The server tells a waiter of this client what has become of its name.
  void push(const Push& push);
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  // Source: the clock of delayed messages.
  [[nodiscard]] Instant due() const noexcept override;
  void ready(short events, Instant now) override;

 private:
  /// An attempt: asked for, then a hold.
  struct Attempt {
    std::shared_ptr<Acquisition> operation{};  ///< null: it is granted
    /// By the last reply, what to add to the server's time to have ours: translates a push's times.
    std::optional<std::chrono::nanoseconds> to_ours{};
    std::uint64_t number = 0;  ///< of the grant that was told; whatever else tells of it is no news
    Instant until{};           ///< the end of that hold; it may have been released before
  };
  using Work = std::function<void()>;

  [[nodiscard]] bool open(Operation& operation);
  /// Has the work done when the message arrives: at once, unless the network is told to be bad.
  template <class Message>
  void deliver(Network::Message kind, Message&& work) {
    const std::optional<std::chrono::nanoseconds> delay = store_->network().send(kind);
    if (!delay) return;
    if (delay->count() == 0) return work();
    delay_by(*delay, std::forward<Message>(work));
  }
  /// Sends a request. @param at_server carries it out, and returns the effect of its reply
  template <class Request>
  void send(Request at_server) {
    deliver(Network::Message::request, [self = shared_from_this(), at_server] {
      self->deliver(Network::Message::reply, at_server(*self->store_));
    });
  }
  void delay_by(std::chrono::nanoseconds delay, Work work);
  /// A thread comes back from a call of the host. @param attached false: it could not be
  void left_host(bool attached) noexcept;
  void asks(const std::shared_ptr<Acquisition>& operation, Instant asked);
  void answered(const std::shared_ptr<Acquisition>& operation, Instant asked, const Answer& answer);
  void granted(const std::shared_ptr<Acquisition>& operation, const ServerGrant& grant,
               std::uint64_t run, Instant counted_from);
  void pushed(const Push& push);
  void give_back(const std::string& name, Mode mode, const ServerGrant& grant);
  void renewed(const AttemptId& attempt, Instant until);
  void forget(const AttemptId& attempt);
  /// @return whether no grant of it was noted.
  [[nodiscard]] bool forget_unless_granted(const AttemptId& attempt);

  const std::shared_ptr<Store> store_;
  const std::string name_;
  mutable std::mutex mutex_;
  Host* host_ = nullptr;
  std::shared_ptr<Clock> clock_;
  int calling_host_ = 0;  // threads between a look at `stopped_` and the end of a call of the host
  std::condition_variable host_free_;
  bool attached_ = false;
  bool stopped_ = false;
  std::map<AttemptId, Attempt> attempts_;
  std::size_t sweep_at_ = 0;
  std::multimap<Instant, Work> messages_;  // by the time they arrive
};

}  // namespace mortise::memory
