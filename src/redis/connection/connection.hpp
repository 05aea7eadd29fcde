// SPDX-License-Identifier: MIT
// One connection to the server, made again and again: resolve, connect, encrypt, greet, then
// commands and replies in order, until it breaks. It knows nothing of locks.
#pragma once

#include <mortise/backend.hpp>

#include "base/tuned_source.hpp"
#include "redis/connection/connection_life.hpp"
#include "redis/connection/destination.hpp"
#include "redis/connection/loaded_scripts.hpp"
#include "redis/store/call.hpp"
#include "redis/store/settings.hpp"
#include "remote/link.hpp"

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <string_view>

namespace mortise::redis {

/// A connection connects when it is wanted, and once more after it broke, until it is let go.
///
/// Any thread sends: it writes what others have queued together with its own. One thread at a time,
/// which has the reader's role, is inside `ready()` or `linger()`. Only there the connection
/// changes its state and calls its user. If the user throws because memory failed, it counts as not
/// called: the connection is dropped, and the call whose answer it was is not answered.
/// @thread_safety every member may be called concurrently; the user is called under no mutex,
/// except for `admits()`.
class Connection final : public base::TunedSource {
 public:
  using User = ConnectionUser;
  using Sent = Pipeline::Sent;

  /// @param inbox the channel to subscribe to; empty = a connection for commands
  /// @param settings, tls, user, mutex outlive it; tls may be null
  /// @param mutex guards what its user notes of calls as well; null = one of its own
  /// @param generations see UnderWay
  /// @param sentinels are asked for the server, if no address is given; they outlive it
  Connection(Host& host, const Settings& settings, const remote::Tls* tls, std::string inbox,
             User& user, std::mutex* mutex = nullptr,
             std::atomic<std::uint64_t>* generations = nullptr, Sentinels* sentinels = nullptr);
  ~Connection() override;

  /// Has it connect, and stay so. @param now true: without waiting for the back-off to pass
  void want(bool now = false);
  /// The same, to exactly this endpoint.
  /// @param host the name in its certificate; empty: as the settings say
  void want_at(const base::Endpoint& endpoint, bool now, const std::string& host = {});
  /// Drops it. It connects only when it is wanted again. Call this only from inside its user.
  void drop(const Failure& why) { life_.drop(why); }
  /// Has it looked at soon, although no caller waits for a reply: it may be broken.
  void suspect();
  /// Drops it from any thread: soon, in the reader's role.
  void mark_broken(const Failure& why) noexcept;
  /// The same, also of one that is still being made.
  void abandon(const Failure& why) noexcept;
  /// Ends it for good; call after the source was detached. @return what was not answered.
  std::list<Call> close() noexcept { return life_.close(); }

  /// Sends one command whose reply will come to `answered()`, unless it is withdrawn.
  /// @param call its `generation` is that of `calls()` for which the bytes were written. It learns
  /// when it left, unless it knows. If it is sent, it goes on with the connection: its operation is
  /// not in here any more, and may be over
  [[nodiscard]] Sent send(Call& call, std::string_view bytes) { return send(&call, bytes); }
  /// Sends what is answered by pushes only.
  [[nodiscard]] bool send(std::string_view bytes) { return send(nullptr, bytes) == Sent::sent; }
  /// @return the calls that were sent by it.
  [[nodiscard]] SentCalls& calls() noexcept { return pipeline_.calls(); }
  [[nodiscard]] const SentCalls& calls() const noexcept { return pipeline_.calls(); }
  [[nodiscard]] const Pipeline& pipeline() const noexcept { return pipeline_; }
  /// @return the scripts that were sent whole.
  [[nodiscard]] LoadedScripts& loaded() noexcept { return loaded_; }
  [[nodiscard]] bool up() const noexcept { return link_.is_up(); }
  /// @return true if it is there, or if it is wanted.
  [[nodiscard]] bool is_wanted() const noexcept { return link_.is_wanted(); }
  /// @return the server that the connection leads to.
  [[nodiscard]] const Destination& destination() const noexcept { return destination_; }
  /// @return the server, for messages.
  [[nodiscard]] const std::string& where() const noexcept { return destination_.words(); }

  // Source
  [[nodiscard]] int descriptor() const noexcept override { return descriptor_.load(); }
  [[nodiscard]] short interest() const noexcept override;
  [[nodiscard]] Instant due() const noexcept override {
    const Instant due = link_.due([this] { return pipeline_.calls().due(); });
    return link_.is_under_way() ? std::min(due, life_.approach().due()) : due;
  }
  [[nodiscard]] bool pushes() const noexcept override { return life_.is_inbox(); }
  [[nodiscard]] bool outstanding() const noexcept override {
    return link_.is_outstanding(pipeline_.calls().count() > 0);
  }
  [[nodiscard]] bool linger() override;
  void ready(short events, Instant now) override;
  void gather() override { life_.gather(); }
  [[nodiscard]] bool gathering() const noexcept override {
    return pipeline_.bytes().is_gathering();
  }
  void send_gathered() override;

 private:
  [[nodiscard]] Sent send(Call* call, std::string_view bytes);
  [[nodiscard]] bool admits(const Call& call);

  User& user_;
  Destination destination_;
  remote::Link link_;
  std::atomic<int> descriptor_{-1};
  LoadedScripts loaded_;
  Pipeline pipeline_;
  ConnectionLife life_;
  std::atomic<bool> is_read_{false};  // a thread has the reader's role
};

}  // namespace mortise::redis
