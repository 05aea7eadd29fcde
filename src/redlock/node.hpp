// SPDX-License-Identifier: MIT
// One address of the quorum: its connection for commands, and its inbox for hints. It knows nothing
// of the others.
#pragma once

#include <mortise/backend.hpp>

#include "base/tuned_source.hpp"
#include "redis/answer.hpp"
#include "redis/connection.hpp"
#include "redlock/trail.hpp"
#include "remote/name_watch.hpp"

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace mortise::redlock {

/// The connection for commands is two sources to the library: while it is up, whoever waits for an
/// answer reads it; while it is not, the background thread sees to it, so that a server that is
/// down costs callers nothing. Answers that came after the majority's wait unread for the next
/// caller, or for the end of their time.
/// @thread_safety every member may be called concurrently.
class Node final : private redis::Connection::User {
 public:
  /// Whom it tells; called under no mutex, but for `withdrawn()` (see `admits()` of
  /// redis::Connection).
  class User {
   public:
    virtual ~User() = default;
    /// It has said who it is; it can be asked from now on.
    virtual void recognise(Node& node, const std::string& run_id) = 0;
    virtual void up(Node& node) = 0;
    /// Its connection is gone, and `usable()` does not say so yet.
    virtual void breaks(Node& node, const std::list<redis::Call>& unanswered) = 0;
    /// @param was_up false: it could not be connected
    virtual void down(Node& node, bool was_up, std::list<redis::Call> unanswered) = 0;
    virtual void answered(Node& node, const redis::Call& call, const redis::Reply& reply) = 0;
    [[nodiscard]] virtual bool withdrawn(const redis::Call& call) const = 0;
    /// Hints can come from now on.
    virtual void listens(Node& node) = 0;
    virtual void hinted(Node& node, const AttemptId& attempt) = 0;
    /// Whether somebody waits for an answer.
    [[nodiscard]] virtual bool awaits() const noexcept = 0;
  };

  /// @param settings, tls, user outlive it; tls may be null
  Node(std::size_t index, Host& host, const redis::Settings& settings, const remote::Tls* tls,
       User& user);
  ~Node() override;

  [[nodiscard]] std::size_t index() const noexcept { return index_; }
  /// @return "redis 10.0.0.1:6379".
  [[nodiscard]] const std::string& where() const noexcept { return commands_.where(); }

  void attach();
  void detach() noexcept;
  /// After `detach()`. @return what was not answered
  std::list<redis::Call> close();

  /// Has it connect. @param now without waiting for the back-off to pass
  void want(bool now);
  [[nodiscard]] const redis::Settings& settings() const noexcept { return settings_; }
  /// @return whether it can be asked.
  [[nodiscard]] bool usable() const noexcept { return usable_.load(); }
  /// @return the server that it is connected to, or was last (see `server_of()`); of what is
  /// `answered()` it is the one that answers.
  [[nodiscard]] std::uint64_t server() const noexcept { return server_.load(); }
  [[nodiscard]] remote::ServerClock& clock() noexcept { return clock_; }
  /// @return why not, when that is known.
  [[nodiscard]] Failure why() const;
  /// @return when that was found; long ago for whoever did not want it since.
  [[nodiscard]] Instant failed_at() const;
  /// @return the number of the connection that can be asked, or could last; grows. Not that of one
  /// that will be: between the end of a connection and the notes of what was on its way there
  /// `usable()` may still be read, and by the next one nothing may leave that does not know of
  /// them.
  [[nodiscard]] std::uint64_t generation() const noexcept { return generation_.load(); }
  /// @return the same of a connection that is there; 0 = none is: that number is the next one's.
  [[nodiscard]] std::uint64_t generation_of_what_is_up() const noexcept {
    const std::uint64_t generation = commands_.generation();  // first: it grows when one ends
    return commands_.up() ? generation : 0;
  }
  [[nodiscard]] redis::LoadedScripts& loaded() noexcept { return commands_.loaded(); }
  /// @return whether a call of that kind is on its way there.
  template <class Which>
  [[nodiscard]] bool awaits(Which which) const {
    return commands_.awaits(which);
  }
  /// For a caller that polls the sources by itself, since no client does any more.
  void add_sources(std::vector<Source*>& sources) {
    sources.push_back(&answers_);
    sources.push_back(&care_);
  }
  /// @return as redis::Connection::send()
  [[nodiscard]] redis::Connection::Sent send(redis::Call call, std::string_view bytes);
  /// Has it drop the connection that it has, and connect once more: its address may lead elsewhere
  /// by now.
  void connect_anew(const Failure& why) {
    usable_.store(false);
    commands_.mark_broken(why);
  }
  /// Drops the connection; only from inside `answered()`.
  void drop(const Failure& why) { commands_.drop(why); }

  /// Opens the inbox, if there is none.
  void listen(const std::string& channel);
  [[nodiscard]] bool listens() const noexcept { return listens_.load(); }

 private:
  /// The connection for commands, as long as it is up.
  class Answers final : public base::TunedSource {
   public:
    explicit Answers(Node& node) : node_(node) {}
    [[nodiscard]] int descriptor() const noexcept override;
    [[nodiscard]] short interest() const noexcept override;
    [[nodiscard]] Instant due() const noexcept override;
    [[nodiscard]] bool pushes() const noexcept override { return false; }
    [[nodiscard]] bool outstanding() const noexcept override;
    void gather() override { node_.commands_.gather(); }
    [[nodiscard]] bool gathering() const noexcept override { return node_.commands_.gathering(); }
    void send_gathered() override { node_.commands_.send_gathered(); }
    void ready(short events, Instant now) override { node_.commands_.ready(events, now); }

   private:
    Node& node_;
  };
  /// The same while it is not; and its time-outs, whatever it is.
  class Care final : public Source {
   public:
    explicit Care(Node& node) : node_(node) {}
    [[nodiscard]] int descriptor() const noexcept override;
    [[nodiscard]] short interest() const noexcept override;
    [[nodiscard]] Instant due() const noexcept override { return node_.commands_.due(); }
    void ready(short events, Instant now) override { node_.commands_.ready(events, now); }

   private:
    Node& node_;
  };

  // redis::Connection::User
  void greeted(redis::Connection& connection, const redis::ServerFacts& facts) override;
  void connected(redis::Connection& connection) override;
  void answered(const redis::Call& call, const redis::Reply& reply) override;
  [[nodiscard]] bool admits(const redis::Call& call) override { return !user_.withdrawn(call); }
  void changed(redis::Connection& connection) override;
  void pushed(const redis::Reply& message) override;
  void dropped(redis::Connection& connection, const Failure& why, bool was_up,
               std::list<redis::Call> unanswered) override;

  void welcome(redis::Connection& connection);
  void lead_inbox(bool now);

  const std::size_t index_;
  Host& host_;
  const redis::Settings& settings_;
  const remote::Tls* const tls_;
  User& user_;
  redis::Connection commands_;
  Answers answers_{*this};
  Care care_{*this};
  std::unique_ptr<remote::NameWatch> name_watch_;  // null = the address is no name
  std::unique_ptr<redis::Connection> inbox_owner_;
  std::atomic<redis::Connection*> inbox_{nullptr};
  std::atomic<bool> attached_{false};
  std::atomic<bool> usable_{false};
  std::atomic<std::uint64_t> server_;
  std::atomic<std::uint64_t> generation_{0};
  remote::ServerClock clock_;
  std::atomic<bool> listens_{false};

  mutable std::mutex mutex_;
  Failure why_;
  Instant failed_at_{};
  std::string run_id_;
  std::string inbox_run_id_;
};

}  // namespace mortise::redlock
