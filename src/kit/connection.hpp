// SPDX-License-Identifier: MIT
// One connection to the server of a protocol, made again and again: resolve, connect, greet, then
// requests and their answers in order, until it breaks. It knows nothing of locks.
#pragma once

#include <mortise/backend.hpp>
#include <mortise/connector.hpp>
#include <mortise/remote/protocol.hpp>

#include "base/address.hpp"
#include "base/endpoint.hpp"
#include "kit/call.hpp"
#include "remote/link.hpp"
#include "remote/stream/approach.hpp"
#include "remote/stream/pipeline.hpp"

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace mortise::kit {

using Pipeline = remote::Pipeline<Call>;

/// The server of a backend.
struct Destination {
  base::Address address{};
  std::shared_ptr<const Connector> connector{};  ///< null = the library connects
  std::string where{};                           ///< for messages: "lockd 10.0.0.1:7000"
};

/// Receives the events of a connection, on the thread that polls it and under no mutex, except for
/// `admits()`.
class ConnectionUser {
 public:
  virtual ~ConnectionUser() = default;
  /// See Pipeline::Admits.
  [[nodiscard]] virtual bool admits(const Call& call) = 0;
  /// @param asked our clock before the greeting left
  virtual void greeted(const remote::Message& greeting, Instant asked) = 0;
  /// Calls can be sent. @param endpoint the endpoint of the server
  virtual void connected(const base::Endpoint& endpoint) = 0;
  virtual void answered(const Call& call, const remote::Message& message) = 0;
  virtual void pushed(const remote::Message& message) = 0;
  /// It broke, or could not be made. The server may have executed the unanswered calls or not.
  virtual void dropped(const Failure& why, bool was_up, std::list<Call> unanswered) = 0;
};

/// A connection connects when it is wanted, and again after it broke, until it is closed.
/// @thread_safety every member may be called concurrently, except for those that are called by the
/// user from inside its events
class Connection final : public Source {
 public:
  /// @param mutex see Pipeline
  /// @param destination, protocol, user, mutex outlive it
  Connection(Host& host, const Destination& destination, const remote::Protocol& protocol,
             ConnectionUser& user, std::mutex& mutex);

  /// Has it connect. @param now true: without waiting for the back-off to pass
  void want(bool now);
  /// Drops it soon, on the thread that polls.
  void mark_broken() noexcept;
  /// See Pipeline::send().
  [[nodiscard]] Pipeline::Sent send(Call& call, std::string_view bytes);
  [[nodiscard]] bool is_up() const noexcept { return link_.is_up(); }
  [[nodiscard]] const Pipeline& pipeline() const noexcept { return pipeline_; }

  // From inside an event of the user.

  /// Drops it now.
  void drop(const Failure& why);

  /// Ends it, after the source was detached. @return the calls that were not answered
  [[nodiscard]] std::list<Call> close() noexcept;

  // Source
  [[nodiscard]] int descriptor() const noexcept override { return descriptor_.load(); }
  [[nodiscard]] short interest() const noexcept override;
  [[nodiscard]] Instant due() const noexcept override;
  [[nodiscard]] bool pushes() const noexcept override { return false; }
  [[nodiscard]] bool outstanding() const noexcept override {
    return link_.is_outstanding(pipeline_.calls().count() > 0);
  }
  void ready(short events, Instant now) override;

 private:
  void go_on(Instant now);
  /// See Pipeline::take_step().
  template <class Step>
  [[nodiscard]] bool takes_step(Step step);
  void come_closer(Instant now);
  void receive();
  void take_messages();
  void take(const remote::Message& message);
  void take_answer(const remote::Message& message);
  void give_up_if_late(Instant now);
  void give_up_address(const Failure& why, Instant now);
  [[nodiscard]] Failure failure(Failure why) const;

  Host& host_;
  const Destination& destination_;
  const remote::Protocol& protocol_;
  ConnectionUser& user_;
  remote::Link link_;
  std::atomic<int> descriptor_{-1};
  Pipeline pipeline_;
  remote::Approach approach_;
  base::Endpoint endpoint_;  // of the present connection
  Instant greeting_left_{};
  std::string received_;  // bytes that are not read yet
};

}  // namespace mortise::kit
