// SPDX-License-Identifier: MIT
// The backend of one Redis master: turns requests into calls of the scripts, and what the server
// says, to them or to the inbox, into completions.
#pragma once

#include <mortise/backend.hpp>

#include "redis/attempts.hpp"
#include "redis/cluster.hpp"
#include "redis/redisson_side.hpp"
#include "redis/requests.hpp"
#include "redis/server.hpp"
#include "redis/settings.hpp"
#include "remote/ask_turns.hpp"
#include "remote/exchange.hpp"
#include "remote/stream/tls.hpp"
#include "remote/timer.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::redis {

/// A server is two connections: one for commands, shared by all threads of the client, and the
/// inbox, which is told of grants. While there is no inbox nobody joins a queue; while there is no
/// connection, requests wait here, and those that were not answered are sent once more: every
/// script may be repeated.
class RedisBackend final : public Backend, private Server::User {
 public:
  /// @throws Error (`misconfigured`): a file of the TLS settings
  explicit RedisBackend(Settings settings);
  ~RedisBackend() override;

  [[nodiscard]] Capabilities capabilities() const override;
  [[nodiscard]] std::string describe() const override;
  void start(Host& host) override;
  void stop() noexcept override;
  void acquire(const std::shared_ptr<Acquisition>& operation) override;
  void cancel(const std::shared_ptr<Acquisition>& operation) override;
  void renew(const std::shared_ptr<Renewal>& operation) override;
  void release(const std::shared_ptr<Release>& operation) override;
  void inspect(const std::shared_ptr<Inspection>& operation) override;
  void recall(const std::shared_ptr<Recollection>& operation) override;
  void check(const std::shared_ptr<Check>& operation) override;
  void list(const std::shared_ptr<Listing>& operation) override;
  void queue(const std::shared_ptr<QueueLook>& operation) override;

 private:
  /// The moments at which the first of a queue looks again: its holder's lease ends. Those at which
  /// what was refused, and nobody else repeats, is sent again; and at which a hold has become long.
  class Alarm final : public Source {
   public:
    explicit Alarm(RedisBackend& backend) : backend_(backend) {}
    [[nodiscard]] Instant due() const noexcept override {
      Instant due = std::min(
          {backend_.turns_.due(), backend_.attempts_.next_look(), backend_.exchange_.due()});
      if (backend_.redisson_) due = std::min(due, backend_.redisson_->due());
      return backend_.cluster_ == nullptr ? due : std::min(due, backend_.cluster_->next_look());
    }
    void ready(short events, Instant now) override;

   private:
    RedisBackend& backend_;
  };

  using Calls = Server::Calls;

  // Server::User
  void is_up(Server& server) override { submit_kept(server); }
  void listens(Server& server) override;
  void answered(Server& server, const Call& call, const Reply& reply) override;
  [[nodiscard]] bool admits(const Call& call) override;
  void matched(Server& server, const Call& call, const Reply& reply, Instant now) override;
  void pushed(Server& server, const Reply& message) override;
  void lost_commands(Server& server, const Failure& why, bool final, bool was_up,
                     std::list<Call> unanswered) override;
  void lost_inbox(Server& server, const Failure& why, bool final) override;
  bool says(Server& server, bool begins, const std::string& name) override;
  [[nodiscard]] Failure refuses(Server& server, const SlotTable& table) override;

  /// @return the server that has that name now.
  [[nodiscard]] Server& server_of(std::string_view name) const noexcept {
    return cluster_ == nullptr ? *server_ : cluster_->server_of(name);
  }
  [[nodiscard]] Server& server_of(const Acquisition& operation) const noexcept {
    return server_of(operation.request().name);
  }
  [[nodiscard]] Server& server_of(const Call& call) const noexcept {
    if (cluster_ == nullptr) return *server_;
    return call.at != nullptr ? *call.at : cluster_->server_of(call.name());
  }
  [[nodiscard]] std::vector<Server*> servers() const {
    return cluster_ == nullptr ? std::vector<Server*>{server_.get()} : cluster_->servers();
  }

  /// @return whether calls can leave: to a server that is up, of a cluster that is known.
  [[nodiscard]] bool may_send(const Server& server) const noexcept {
    return server.commands().up() && (cluster_ == nullptr || cluster_->is_agreed());
  }
  [[nodiscard]] bool open(Operation& operation);
  void attach(Server& server);
  void want(Server& server, bool now = false);
  void open_inbox(Server& server, const AttemptId& of_client);
  void ask(const std::shared_ptr<Acquisition>& operation);
  /// It asks again, and others with it.
  void renew_places(const std::shared_ptr<Acquisition>& operation);
  /// @param call whoever asks keeps its operation until this returns
  void submit(Call call);
  /// @return true if it is on its way, or not wanted any more
  [[nodiscard]] bool leaves(Server& server, Call& call);
  void wait_for_room(Server& server, Call call);
  void let_leave(Server& server);
  Connection::Sent send(Server& server, Call& call);
  static void note_sent(const Call& call, Operation& operation);
  void write(const Server& server, std::string& bytes, Call& call);
  [[nodiscard]] bool is_withdrawn(const Acquisition& operation) const;
  void submit_kept(Server& server);
  [[nodiscard]] bool is_over(const Call& call, Instant now) const;
  void leave(const Call& call);

  void take_answer(Server& server, const Call& call, const Reply& reply);
  void refused(Server& server, const Call& call, const Reply& reply);
  void run_again_later(const Call& call,
                       std::chrono::milliseconds pause = std::chrono::milliseconds(500));
  void send_again(Calls calls);
  void keep(Server& server, Calls alone) noexcept;
  void break_commands() noexcept;
  void nonsense(Server& server, const Call& call);
  bool renews_apart(const Call& call, std::string_view words);
  void fail_protocol(const Call& call, const Failure& why);
  void answered_attempt(Server& server, const std::shared_ptr<Acquisition>& operation,
                        Instant asked, const Answer& answer);
  void granted(const Server::Told& told, Acquisition& operation, Instant asked,
               const Answer& answer);
  void tell_granted(Acquisition& operation, const Grant& grant, std::uint64_t noted);
  void tell_believed(const std::shared_ptr<Acquisition>& operation, const Push& push,
                     const Grant& grant);
  // With `replicas=n`, which no cluster has.
  [[nodiscard]] Witness* witness() const noexcept {
    return server_ == nullptr ? nullptr : server_->witness();
  }
  void attest(std::uint64_t clock, const std::shared_ptr<Acquisition>& operation,
              const Grant& grant, std::function<void()> tell);
  struct Granted;
  void attested(Granted& granted);
  void unattested(Granted& granted, const Failure& why);
  void attest(std::uint64_t clock, const std::shared_ptr<Renewal>& renewal);
  void answered_check(Server& server, const Call& call);
  void recorded(const std::shared_ptr<Acquisition>& operation, const Answer& answer);
  [[nodiscard]] std::uint64_t note_grant(const Acquisition::Request& request, Instant asked,
                                         const Answer& answer);
  void end_leftover(const std::shared_ptr<Acquisition>& operation) noexcept;
  void end_leftover_of(const AttemptId& attempt);
  void answered_leftover(Server& server, const Call& call, const Answer& answer);
  void look_at_leftovers(Instant now, bool connected = true);
  void answered_places(Server& server, const Call& call, const Reply& reply);
  void set_void_moment(const Server& server, Call& call, const Acquisition::Request& request);
  void note_lost(const Server& server, const Call& call, const std::shared_ptr<Acquisition>& taker);
  void answered_release(Server& server, const Call& call);
  void answered_renewal(Server& server, const Call& call, const Reply& reply);
  static void answered_force(const Call& call, bool ended);
  void answered_recall(const Call& call, const Answer& answer);
  void answered_list(Server& server, const Call& call, const Reply& reply);
  void answered_queue(Server& server, const Call& call, const Reply& reply);
  [[nodiscard]] static Released outcome_of(ReleaseAnswer::Outcome told, bool before,
                                           bool concluded) noexcept;
  void waits(Server& server, const std::shared_ptr<Acquisition>& operation, Instant asked,
             const Answer& answer);
  void cancel_behind(const std::shared_ptr<Acquisition>& operation) noexcept;
  void take_back(const std::shared_ptr<Acquisition>& operation) noexcept;
  void believe(const std::shared_ptr<Acquisition>& operation, const Push& push,
               const Reading& reading);
  void give_back(const std::shared_ptr<Release>& operation, std::chrono::nanoseconds lease);
  void give_back(HoldId hold, std::chrono::nanoseconds lease) {
    give_back(std::make_shared<Release>(std::move(hold)), lease);
  }
  void give_back(const Acquisition::Request& request, std::uint64_t number) {
    give_back({request.name, request.attempt, number, request.mode}, request.lease);
  }
  [[nodiscard]] bool outbox_pending(Instant until);
  void give_back_the_rest();
  void refused_inbox(Server& server, const std::string& words);
  void pushed_grant(Server& server, Push push);
  void told_of_subscription(Server& server, const Reply& message);
  void probe_inbox(Server& server);
  void end_what_it_held(const Acquisition::Request& request, std::uint64_t last);
  // Beside Redisson (mode r), to which keys of `Once` mean nothing.
  [[nodiscard]] RedissonSide* redisson(Mode mode) const noexcept {
    return mode == Mode::exclusive ? redisson_.get() : nullptr;
  }
  void begins_to_hold(const Acquisition::Request& request, std::uint64_t number);

  // In a cluster.
  void want_look();
  void look_at_slots(Instant now);
  void answered_slots(Server& server, const Reply& reply);
  void answered_no_slots(Server& server);
  void heard(Server& server, const Cluster::Verdict& verdict);
  [[nodiscard]] Failure refusal_of_slots(const Server& server, const Reply& reply) const;
  [[nodiscard]] bool redirected(Server& server, const Call& call, const std::string& words);
  void follow(const Cluster::Slots& changed);
  void ask_once(const std::shared_ptr<Acquisition>& operation);
  void listen(Server& server, const Acquisition::Request& request);
  void ask_for(const std::string& name);
  void list_cluster(const Call& call);
  void answered_page(Server& server, const Call& call, NamePage page);
  void lost_in_cluster(Server& server, Calls& calls);
  void leave_unused(Instant now);
  [[nodiscard]] bool checked_inbox(Server& server, const Call& call);
  void go_on_checking();

  void note_unanswered(const Server& server, std::list<Call>& calls) noexcept;
  void lose(Server& server, const Failure& why, bool final, bool was_up,
            std::list<Call> unanswered);
  void left_behind(Calls& alone, const Failure& why, bool final, bool was_up);
  void tell_undecided(Server& server, const Failure& why, bool final);
  void put_in_outbox(Calls alone);

  const Settings settings_;
  const std::unique_ptr<remote::Tls> tls_;
  const Requests requests_;
  Host* host_ = nullptr;
  std::shared_ptr<Clock> clock_;
  Server::Shared shared_;  // its line is that of the attempts, too, which are asked for by servers
  Attempts attempts_{shared_.line};
  remote::AskTurns turns_;
  remote::Exchange<Call> exchange_;
  Alarm alarm_{*this};
  std::unique_ptr<Server> server_;          // null in a cluster
  std::unique_ptr<RedissonSide> redisson_;  // null without `interop=redisson`
  std::unique_ptr<Cluster> cluster_;        // null where there is one server
  std::atomic<bool> ends_{false};  // what is still to be said before it has stopped is being said
  std::atomic<bool> stopped_{false};
  std::atomic<bool> attached_{false};

  std::mutex mutex_;
};

}  // namespace mortise::redis
