// SPDX-License-Identifier: MIT
// One address of the quorum: its connection for commands, and its inbox for hints. It knows nothing
// of the others.
#pragma once

#include <mortise/backend.hpp>

#include "base/tuned_source.hpp"
#include "redis/connection/connection.hpp"
#include "remote/last_failure.hpp"
#include "remote/name_watch.hpp"
#include "remote/server_clock.hpp"
#include "remote/timer.hpp"

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace mortise::redlock {

class Server;

/// It is connected to the very server that the connection for commands leads to. An address need
/// not lead to it twice.
/// @thread_safety every member may be called concurrently
class HintInbox final : private redis::Connection::User {
 public:
  class User {
   public:
    virtual ~User() = default;
    /// Hints can come from now on.
    virtual void listens() = 0;
    virtual void hinted(const AttemptId& attempt) = 0;
    /// It broke.
    virtual void stops_listening() = 0;
  };
  /// @param settings, tls, commands, user outlive it; tls may be null
  HintInbox(Host& host, const redis::Settings& settings, const remote::Tls* tls,
            const redis::Connection& commands, User& user)
      : host_(host), settings_(settings), tls_(tls), commands_(commands), user_(user) {}

  /// Opens it, if it is not open.
  void open(const std::string& channel);
  [[nodiscard]] bool listens() const noexcept { return listens_.load(); }
  /// The connection for commands leads to that server now.
  void follow(const std::string& run_id);
  void detach() noexcept;
  /// After `detach()`.
  void close() noexcept;

 private:
  // redis::Connection::User
  void greeted(redis::Connection& connection, const redis::ServerFacts& facts) override;
  void connected(redis::Connection& connection) override;
  void answered(const redis::Call& /*call*/, const redis::Reply& /*reply*/) override {}
  [[nodiscard]] bool admits(const redis::Call& /*call*/) override { return true; }
  void changed(redis::Connection& connection) override { host_.changed(connection); }
  void pushed(const redis::Reply& message) override;
  void dropped(redis::Connection& connection, const Failure& why, bool was_up,
               std::list<redis::Call> unanswered) override;

  [[nodiscard]] bool is_at_its_server();
  void lead(bool now);

  Host& host_;
  const redis::Settings& settings_;
  const remote::Tls* const tls_;
  const redis::Connection& commands_;
  User& user_;
  std::atomic<redis::Connection*> inbox_{nullptr};
  std::atomic<bool> listens_{false};
  std::atomic<bool> is_detached_{false};
  std::mutex mutex_;
  std::unique_ptr<redis::Connection> owner_;
  std::string run_id_;  // of the server of the commands
  std::string its_run_id_;
};

/// The connection for commands is two sources to the library: while it is up, whoever waits for an
/// answer reads it; while it is not, the background thread sees to it, so that a server that is
/// down costs callers nothing. Answers that came after the majority's wait unread for the next
/// caller, or for the end of their time.
/// @thread_safety every member may be called concurrently.
class Node final : private redis::Connection::User, private HintInbox::User {
 public:
  /// Called under no mutex, but for `admits()` (see `admits()` of redis::Connection).
  class User {
   public:
    virtual ~User() = default;
    /// It has said who it is; it can be asked from now on.
    /// @return the server to which the address leads by that
    [[nodiscard]] virtual Server* recognise(Node& node, const std::string& run_id) = 0;
    virtual void up(Node& node) = 0;
    /// @param was_up false: it could not be connected
    virtual void down(Node& node, bool was_up, std::list<redis::Call> unanswered) = 0;
    virtual void answered(Node& node, const redis::Call& call, const redis::Reply& reply) = 0;
    [[nodiscard]] virtual bool admits(Node& node, const redis::Call& call) = 0;
    /// Hints can come from now on.
    virtual void listens(Node& node) = 0;
    virtual void hinted(Node& node, const AttemptId& attempt) = 0;
    /// Whether a caller waits for an answer.
    [[nodiscard]] virtual bool awaits() const noexcept = 0;
  };

  /// @param settings, tls, user outlive it; tls may be null
  Node(std::size_t index, Host& host, const redis::Settings& settings, const remote::Tls* tls,
       User& user);
  ~Node() override;

  [[nodiscard]] std::size_t index() const noexcept { return index_; }
  [[nodiscard]] const redis::Settings& settings() const noexcept { return settings_; }
  [[nodiscard]] redis::Connection& commands() noexcept { return commands_; }
  [[nodiscard]] HintInbox& inbox() noexcept { return inbox_; }
  [[nodiscard]] remote::ServerClock& clock() noexcept { return now_.clock; }
  /// @return "redis 10.0.0.1:6379".
  [[nodiscard]] const std::string& where() const noexcept { return commands_.where(); }

  void attach();
  void detach() noexcept;
  /// After `detach()`. @return what was not answered
  std::list<redis::Call> close();
  /// For a caller that polls the sources by itself, since no client does any more.
  void add_sources(std::vector<Source*>& sources);

  /// Has it connect. @param at_once without waiting for the back-off to pass
  void want(bool at_once) { commands_.want(at_once); }
  /// @return whether it can be asked.
  [[nodiscard]] bool usable() const noexcept { return now_.usable.load(); }
  /// @return the server that it is connected to, or was last. In `answered()` it is the server that
  /// answers.
  [[nodiscard]] Server& server() const noexcept { return *now_.server.load(); }
  /// It was never connected. `server` stands for the server that it will lead to.
  void lead_to(Server& server) noexcept { now_.server.store(&server); }
  /// @return the number of the present or last connection; grows. It is not the number of the next
  /// connection: `server()` may be another one then.
  [[nodiscard]] std::uint64_t generation() const noexcept { return now_.generation.load(); }
  /// @return why it cannot be asked, when that is known.
  [[nodiscard]] Failure why() const { return found_.why.get(); }
  /// @return when that was found; long ago for whoever did not want it since.
  [[nodiscard]] Instant failed_at() const noexcept { return found_.failed_at.get(); }
  /// @return as redis::Connection::send()
  [[nodiscard]] redis::Connection::Sent send(redis::Call call, std::string_view bytes);
  /// Has it drop the connection that it has, and connect once more.
  /// @param elsewhere its address may lead to another server by now: without a pause
  void connect_anew(const Failure& why, bool elsewhere);

 private:
  /// The connection for commands, as long as it is up.
  class Answers final : public base::TunedSource {
   public:
    explicit Answers(Node& node) : its_(node.commands_), user_(node.user_) {}
    [[nodiscard]] int descriptor() const noexcept override {
      return its_.up() ? its_.descriptor() : -1;
    }
    [[nodiscard]] short interest() const noexcept override {
      return its_.up() ? its_.interest() : short{0};
    }
    [[nodiscard]] Instant due() const noexcept override { return its_.up() ? its_.due() : never; }
    [[nodiscard]] bool pushes() const noexcept override { return false; }
    // Even if no caller waits for the answer any more: a vote that is taken back stands until then.
    [[nodiscard]] bool outstanding() const noexcept override {
      return its_.up() &&
             (its_.pipeline().bytes().is_blocked() || (user_.awaits() && its_.outstanding()));
    }
    void gather() override { its_.gather(); }
    [[nodiscard]] bool gathering() const noexcept override { return its_.gathering(); }
    void send_gathered() override { its_.send_gathered(); }
    void ready(short events, Instant now) override { its_.ready(events, now); }

   private:
    redis::Connection& its_;
    const User& user_;
  };
  /// The same while it is not; and its time-outs, whatever it is.
  class Care final : public Source {
   public:
    explicit Care(Node& node) : its_(node.commands_) {}
    [[nodiscard]] int descriptor() const noexcept override {
      return its_.up() ? -1 : its_.descriptor();
    }
    [[nodiscard]] short interest() const noexcept override {
      return its_.up() ? short{0} : its_.interest();
    }
    [[nodiscard]] Instant due() const noexcept override { return its_.due(); }
    void ready(short events, Instant now) override { its_.ready(events, now); }

   private:
    redis::Connection& its_;
  };
  struct Sources {
    Answers answers;
    Care care;
  };
  /// The server that the address leads to.
  struct Now {
    std::atomic<bool> usable{false};
    std::atomic<Server*> server{nullptr};
    std::atomic<std::uint64_t> generation{0};
    remote::ServerClock clock{};
  };
  /// The findings of the last connection.
  struct Found {
    remote::LastFailure why{};
    remote::Moment failed_at{};
    std::string run_id{};
  };

  // redis::Connection::User
  void greeted(redis::Connection& connection, const redis::ServerFacts& facts) override;
  void connected(redis::Connection& connection) override;
  void answered(const redis::Call& call, const redis::Reply& reply) override;
  [[nodiscard]] bool admits(const redis::Call& call) override { return user_.admits(*this, call); }
  void changed(redis::Connection& connection) override;
  void pushed(const redis::Reply& /*message*/) override {}
  void dropped(redis::Connection& connection, const Failure& why, bool was_up,
               std::list<redis::Call> unanswered) override;
  // HintInbox::User
  void listens() override { user_.listens(*this); }
  void hinted(const AttemptId& attempt) override { user_.hinted(*this, attempt); }
  // The other connection may have broken for the same reason, and no thread may be looking at it.
  void stops_listening() override { commands_.suspect(); }

  const std::size_t index_;
  Host& host_;
  const redis::Settings& settings_;
  User& user_;
  redis::Connection commands_;
  HintInbox inbox_;
  Sources sources_{Answers(*this), Care(*this)};
  std::unique_ptr<remote::NameWatch> name_watch_;  // null = the address is no name
  std::atomic<bool> attached_{false};
  Now now_;
  std::mutex mutex_;  // of the run_id
  Found found_;
};

}  // namespace mortise::redlock
