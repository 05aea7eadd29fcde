// SPDX-License-Identifier: MIT
// One server as a client has it: the connection for commands and the inbox. It knows nothing of
// locks, and nothing of other servers.
#pragma once

#include <mortise/backend.hpp>

#include "redis/answer.hpp"
#include "redis/connection.hpp"
#include "redis/listening.hpp"
#include "redis/sentinel_watch.hpp"
#include "redis/settings.hpp"
#include "redis/witness.hpp"
#include "remote/name_watch.hpp"
#include "remote/stream/tls.hpp"

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace mortise::redis {

/// The two connections have to lead to the same server, started once: a grant that one tells of
/// must not be of a server that the other one has not met. So the inbox follows the connection for
/// commands to where that leads.
/// @thread_safety every member may be called concurrently, but for those that say otherwise.
class Server final : private Connection::User {
 public:
  /// Whom it tells; called under no mutex, but for `admits()` and `matched()`, in the reader's role
  /// of the connection that it is about.
  class User {
   public:
    virtual ~User() = default;
    /// The server is acceptable by itself; it says this of its cluster, if it is of one.
    /// @return why it is not one of those that are meant
    [[nodiscard]] virtual Failure refuses(Server& /*server*/, const SlotTable& /*table*/) {
      return {};
    }
    /// Calls can be sent.
    virtual void is_up(Server& server) = 0;
    /// Pushes can come.
    virtual void listens(Server& server) = 0;
    /// As of Connection::User, the next three.
    virtual void answered(Server& server, const Call& call, const Reply& reply) = 0;
    [[nodiscard]] virtual bool admits(const Call& call) = 0;
    virtual void matched(Server& server, const Call& call, const Reply& reply, Instant now) = 0;
    virtual void pushed(Server& server, const Reply& message) = 0;
    /// @param final asking again will not help
    virtual void lost_commands(Server& server, const Failure& why, bool final, bool was_up,
                               std::list<Call> unanswered) = 0;
    virtual void lost_inbox(Server& server, const Failure& why, bool final) = 0;
    /// The inbox is to listen for a name, or not any more. @return false: that cannot be said
    virtual bool says(Server& server, bool begins, const std::string& name) = 0;
  };

  /// What the reply says that is being read, of an attempt or of a release, and how that was noted.
  struct Told {
    std::optional<Answer> answer{};
    std::optional<ReleaseAnswer> release{};
    bool release_in_doubt = false;
    bool looks_later = false;  // a look at a leftover is due later
    std::uint64_t hold = 0;    // the number of the attempt's hold, as it is recorded now

    /// In place: a new one would have to be written as a whole, and be moved here.
    void forget() noexcept {
      answer.reset();
      release.reset();
      release_in_doubt = false;
      looks_later = false;
      hold = 0;
    }
  };

  /// What the servers of one client share.
  struct Shared {
    std::mutex line{};  ///< guards what the user notes of calls, with the calls: see Connection
    std::atomic<std::uint64_t> generations{0};  ///< of their connections: see UnderWay
    std::atomic<std::uint64_t> clocks{0};
  };

  /// @param settings, tls, shared, user outlive it; tls may be null
  Server(Host& host, const Settings& settings, const remote::Tls* tls, Shared& shared, User& user);
  ~Server() override;

  /// Has the library poll its connections. May throw: say it again then.
  void attach();
  /// Ends that, where nobody wants them: until it is attached again.
  void detach() noexcept;
  [[nodiscard]] bool is_attached() const noexcept { return attached_.load(); }
  /// The same of the inbox, which is made with the first one of these; not more than one thread.
  void open_inbox(const std::string& channel);
  [[nodiscard]] bool has_inbox() const noexcept { return inbox_.load() != nullptr; }
  /// Has it made anew at once, if it is not there.
  void renew_inbox();
  /// @return whether it is known by now what became of that.
  [[nodiscard]] bool inbox_is_decided() const noexcept { return inbox_decided_.load(); }
  /// The end of both: nothing is told from now on. @return what was not answered
  std::list<Call> end() noexcept;

  [[nodiscard]] Connection& commands() noexcept { return commands_; }
  [[nodiscard]] const Connection& commands() const noexcept { return commands_; }
  [[nodiscard]] const base::Address& address() const noexcept { return settings_.address; }
  /// @return by what its times are told from those of other servers, and of earlier starts.
  [[nodiscard]] std::uint64_t clock() const noexcept { return clock_.load(); }
  /// The time of that server, as an estimate.
  [[nodiscard]] remote::ServerClock& time() noexcept { return time_; }
  [[nodiscard]] const remote::ServerClock& time() const noexcept { return time_; }
  /// @return as `clock()`, of the server to which the inbox leads.
  [[nodiscard]] std::uint64_t clock_of_inbox() const noexcept { return clock_of_inbox_.load(); }
  /// A call for it was made; and when that was last.
  void use(Instant now) noexcept { used_.store(now.time_since_epoch().count()); }
  [[nodiscard]] Instant used() const noexcept { return Instant(Instant::duration(used_.load())); }
  /// @return "redis 10.0.0.1:6379".
  [[nodiscard]] const std::string& where() const noexcept { return commands_.where(); }
  /// @return whether whoever waits can be told: otherwise nobody joins a queue.
  [[nodiscard]] bool listens() const noexcept { return inbox_up_.load(); }
  /// @return whether somebody wants it, and it could not be reached: it may be replaced soon.
  [[nodiscard]] bool is_missed() const {
    return !commands_.up() && commands_.outstanding() && why_down();
  }
  /// @return why there is no connection for commands; none = there is, or that is not known.
  [[nodiscard]] Failure why_down() const;
  /// @return why there will be no inbox.
  [[nodiscard]] Failure why_deaf() const;

  /// @return whether it was handed to the inbox.
  bool say_to_inbox(std::string_view bytes);
  void break_inbox(const Failure& why) noexcept;
  /// Somebody waits to be told by the inbox: it has to show that it lives. One that has not, when
  /// it was asked to, is broken here.
  /// @return whether to ask it now, by a subscription to its `channel()`
  [[nodiscard]] bool begins_probe(Instant now);
  /// It has answered, or was not asked.
  void end_probe() noexcept { awaits_probe_.store(false); }
  /// @return that of the inbox, once there is one.
  [[nodiscard]] const std::string& channel() const noexcept { return channel_; }

  /// Until replicas have what it grants; null = none is asked for.
  [[nodiscard]] Witness* witness() noexcept { return witness_.get(); }

  /// In a cluster: the names for which the inbox listens; null = it hears of all.
  [[nodiscard]] Listening* names() noexcept { return names_.get(); }

  /// Of the reader's role of the connection for commands.
  [[nodiscard]] Told& told() noexcept { return told_; }

 private:
  // Connection::User
  void greeted(Connection& connection, const ServerFacts& facts) override;
  void connected(Connection& connection) override;
  void answered(const Call& call, const Reply& reply) override {
    user_.answered(*this, call, reply);
  }
  [[nodiscard]] bool admits(const Call& call) override { return user_.admits(call); }
  void matched(const Call& call, const Reply& reply, Instant now) override {
    user_.matched(*this, call, reply, now);
  }
  void changed(Connection& connection) override { host_.changed(connection); }
  void pushed(const Reply& message) override { user_.pushed(*this, message); }
  void dropped(Connection& connection, const Failure& why, bool was_up,
               std::list<Call> unanswered) override;

  void lead_inbox(bool now);
  void lead_witness();
  [[nodiscard]] std::unique_ptr<remote::NameWatch> make_name_watch();
  [[nodiscard]] Failure started_anew() const;

  Host& host_;
  const Settings& settings_;
  const remote::Tls* const tls_;
  User& user_;
  Shared& shared_;
  const std::unique_ptr<Sentinels> sentinels_;  // null = the address is known, as the next but one
  Connection commands_;
  const std::unique_ptr<SentinelWatch> watch_;
  const std::unique_ptr<remote::NameWatch> name_watch_;  // null = the address is no name
  const std::unique_ptr<Witness> witness_;
  Told told_;
  const std::unique_ptr<Listening> names_;
  std::atomic<bool> attached_{false};
  std::atomic<Instant::rep> used_{0};
  std::atomic<std::uint64_t> clock_{0};
  remote::ServerClock time_;
  std::atomic<std::uint64_t> clock_of_inbox_{0};
  std::atomic<Connection*> inbox_{nullptr};
  std::unique_ptr<Connection> inbox_owner_;
  std::string channel_;  // written before `inbox_`
  std::atomic<bool> ended_{false};
  std::atomic<bool> inbox_up_{false};
  std::atomic<bool> inbox_decided_{false};
  std::atomic<bool> strayed_{false};  // it came to another server than the other connection, last
  std::atomic<Instant::rep> probed_{0};    // the inbox was asked for a word then
  std::atomic<bool> awaits_probe_{false};  // ... and has not answered

  mutable std::mutex mutex_;
  std::string run_id_;
  std::string inbox_run_id_;
  Failure why_down_;
  Failure why_deaf_;
};

}  // namespace mortise::redis
