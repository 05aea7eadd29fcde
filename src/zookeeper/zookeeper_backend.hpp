// SPDX-License-Identifier: MIT
// The ZooKeeper backend: turns requests into nodes and their ends, and what the server says into
// completions. What is asked for is in zookeeper_backend.cpp; the way of an attempt through its
// queue in zookeeper_queueing.cpp, what that of a key has beside it in zookeeper_keys.cpp; replies
// in zookeeper_replies.cpp; the ends of nodes, connections and sessions in zookeeper_ends.cpp, of
// runs in zookeeper_conclusions.cpp; what keeps holds alive in zookeeper_pulse.cpp; nodes that come
// late in zookeeper_doubts.cpp; names that are too long for a path in zookeeper_names.cpp; what is
// kept of keys, and for how long, in zookeeper_recollections.cpp.
#pragma once

#include <mortise/backend.hpp>

#include "base/timer_source.hpp"
#include "remote/stream/tls.hpp"
#include "remote/timer.hpp"
#include "zookeeper/call.hpp"
#include "zookeeper/lease_place.hpp"
#include "zookeeper/session.hpp"
#include "zookeeper/settings.hpp"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mortise::zookeeper {

/// One mutex for all state, the C client's included. It is never held while anything waits; what is
/// to be completed is collected under it, and completed without it.
class ZooKeeperBackend final : public Backend, private Session::Owner {
 public:
  explicit ZooKeeperBackend(Settings settings);
  ~ZooKeeperBackend() override;

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
  /// Takes a name from whoever holds it.

 private:
  using ContenderPtr = std::shared_ptr<Contender>;
  using Step = Call::Step;

  /// From its making to its end the mutex is held; then what was asked for is sent, and what was
  /// decided is completed.
  class CompletionScope {
   public:
    explicit CompletionScope(ZooKeeperBackend& backend);
    ~CompletionScope();
    CompletionScope(const CompletionScope&) = delete;
    CompletionScope& operator=(const CompletionScope&) = delete;

   private:
    ZooKeeperBackend& backend_;
    std::unique_lock<std::mutex> lock_;
  };
  /// What is due by time alone, for all sessions: polled also while no caller waits.
  class Alarm final : public base::TimerSource {
   public:
    explicit Alarm(ZooKeeperBackend& backend) : backend_(backend) {}
    [[nodiscard]] Instant due() const noexcept override { return shown_.get(); }
    void ready(short events, Instant now) override;
    /// @return whether it is due earlier than before
    bool show(Instant due) noexcept { return shown_.set(due); }

   private:
    ZooKeeperBackend& backend_;
    remote::Moment shown_;
  };

  /// What a renewal asks of one session, and waits for a pulse of. It notes what its holds wait
  /// for, of which there may be thousands, once: they are not looked up again with each thing that
  /// happens to a session.
  struct AwaitedRenewal {
    std::shared_ptr<Renewal> operation;
    Session* session = nullptr;
    Instant asked{};
    Instant from{};                       ///< the session has to be proven to live from then on
    Instant looks{};                      ///< who waits was asked then, and is not known yet
    std::vector<std::size_t> items{};     ///< those of its holds
    std::shared_ptr<std::size_t> left{};  ///< of the operation's parts
  };

  /// Goes round what is kept of all keys, shelf by shelf.
  struct Tidying {
    std::size_t next = 0;                    // shelf
    std::string shelf{};                     // the present one, and
    std::vector<std::string> keys{};         // what is on it, and to be looked at
    std::optional<std::int32_t> removals{};  // there, before that was read
    std::vector<std::pair<std::string, Memo>> over{};
    int empty_shelves = 0;   // in a row
    std::size_t flight = 0;  // requests on their way
  };

  // Session::Owner
  void session_ready(Session& session, short events, Instant now) override;
  void session_up(Session& session) override;
  void session_down(Session& session) override;
  void session_over(Session& session, const Failure& why, bool at_server) override;
  void replied(Session& session, const Call& call, const Reply& reply) override;
  void watched(Session& session, std::string_view path, bool gone) override;

  // Requests.
  [[nodiscard]] bool open(const std::shared_ptr<Operation>& operation);
  [[nodiscard]] Session& session_for(const Paths& paths);
  void acquire_in_turn(const std::shared_ptr<Acquisition>& operation);
  void ask_again(const ContenderPtr& contender);
  void submit(Step step, const std::shared_ptr<Operation>& operation);
  void submit(Call call);
  void submit_again(const Call& call);
  void send_outbox();
  void fail_outbox(const Failure& why, bool final);
  [[nodiscard]] ContenderPtr find(const AttemptId& attempt) const;
  [[nodiscard]] ContenderPtr hold_of(const HoldId& hold) const;

  // Turns.
  void drive(const ContenderPtr& contender);
  void take(const ContenderPtr& contender);
  void make_parents(const ContenderPtr& contender, Instant now);
  void make_levels(const ContenderPtr& contender, const std::string& path, bool while_needed,
                   bool all, Instant now);
  void make_own_node(const ContenderPtr& contender);
  void place(const ContenderPtr& contender, const Children& children);
  void stand(const ContenderPtr& contender, const Children& children);
  void wait_behind(const ContenderPtr& contender, const Place& place);
  void leave_busy(const ContenderPtr& contender, const Place& place);
  void ask_for_holder(const ContenderPtr& contender);
  void predecessor_gone(const ContenderPtr& contender);
  void grant(const ContenderPtr& contender);
  void believe(const ContenderPtr& contender);
  void withdraw(const ContenderPtr& contender);
  void remove(const ContenderPtr& contender);
  void check_own(const ContenderPtr& contender);
  void look_at_queue(const ContenderPtr& contender, Step step);

  // Names whose paths have only their digests.
  void ask_for_name(const ContenderPtr& contender);
  void told_of_name(const ContenderPtr& contender, const Reply& reply);
  void submit_by_name(Call call);
  void compared(Call call, const Reply& reply);
  [[nodiscard]] std::string compared_node(const Call& call) const;
  [[nodiscard]] std::string queue_path(const Operation& operation) const;
  [[nodiscard]] Failure other_name(const std::string& node) const;

  // Readers.
  [[nodiscard]] ContenderPtr owner_of(const Contender& reader) const;
  void go_on_as_reader(const ContenderPtr& contender, const Contender& owner);
  void went_on(const ContenderPtr& contender, const Reply& reply);
  [[nodiscard]] bool ask_who_waits(const ContenderPtr& contender, Instant now);
  void told_who_waits(const ContenderPtr& contender, const Call& call, const Reply& reply);

  // Permits.
  void take_permit(const ContenderPtr& contender);
  void peeked_at_permits(const ContenderPtr& contender, const Children& children);
  void stand_for_permit(const ContenderPtr& contender, const Children& children);
  void leave_without_permit(const ContenderPtr& contender, const LeasePlace& place);
  void fail_by_number(const ContenderPtr& contender, std::uint32_t number);
  void permits_changed(const ContenderPtr& contender);
  void look_at_gate(const ContenderPtr& contender);
  void come_to_gate(const ContenderPtr& contender);
  void gate_opens(const ContenderPtr& gate);
  void leave_gate(const ContenderPtr& gate);
  void without_gate(const ContenderPtr& contender);
  static void waits_at_gate(const Contender& gate);

  // Keys.
  void take_key(const ContenderPtr& contender);
  void ask_for_time(Session& session, bool precisely);
  [[nodiscard]] LeadersTime time_of(const Contender& contender) const;
  void look_at_shelf(const ContenderPtr& contender);
  static void learn_of_shelf(const ContenderPtr& contender, const Reply& reply);
  [[nodiscard]] bool learn(const ContenderPtr& contender, const Reply& reply);
  [[nodiscard]] bool told(const ContenderPtr& contender, bool held);
  [[nodiscard]] std::optional<Holder> runner_of(const Contender& contender) const;
  void leave_key_busy(const ContenderPtr& contender);
  void leave(const ContenderPtr& contender);
  void recalled(const ContenderPtr& contender, const Reply& reply);
  void peeked_at_key(const ContenderPtr& contender, const Children& children);
  void begin_at_once(const ContenderPtr& contender);
  void begin(const ContenderPtr& contender);
  [[nodiscard]] Write beginning(const Contender& contender) const;
  void look_at_beginning(const ContenderPtr& contender);
  void began_at_once(const ContenderPtr& contender, const Reply& reply);
  void began(const ContenderPtr& contender, const Reply& reply);
  void begun(const ContenderPtr& contender, const Reply& reply);
  [[nodiscard]] static bool runs(const Contender& contender);
  void run(const ContenderPtr& contender);
  void place_key(const ContenderPtr& contender, const Children& children);
  [[nodiscard]] static bool runner_has_gone(const Contender& contender);
  void key_in_turn(const ContenderPtr& contender, const Place& place);
  void watch_kept(const ContenderPtr& contender);
  void kept_changed(const ContenderPtr& contender);
  void kept_told(const ContenderPtr& contender, const Call& call, const Reply& reply);
  void replied_about_key(const ContenderPtr& contender, const Call& call, const Reply& reply);

  // Conclusions.
  void conclude(const ContenderPtr& contender);
  void concluded(const ContenderPtr& contender, const Reply& reply);
  void found_concluded(const ContenderPtr& contender, const Reply& reply);
  void without_conclusion(const ContenderPtr& contender);
  void in_doubt(const std::shared_ptr<Release>& operation);
  void give_up_saying(const ContenderPtr& contender);
  void recognise(const std::shared_ptr<Release>& operation, bool unsure, bool may_come = false);
  void recognised(const Call& call, const Reply& reply);

  // Recollections.
  void look_up(const std::shared_ptr<Recollection>& operation);
  [[nodiscard]] bool send_look(Session& session, const Call& call);
  [[nodiscard]] static std::string shelf_of(const std::string& kept);
  [[nodiscard]] static Write removal_from(const std::string& shelf, std::int32_t removals);
  void looked_up(Session& session, const Call& call, const Reply& reply);
  void answer(const std::shared_ptr<Recollection>& operation, const Memo& memo, bool held,
              const Session& session);
  [[nodiscard]] Failure not_of_that_key(const std::string& node, bool is_record) const;
  void tidy(Session& session);
  void send_tidying(bool sent);
  void list_a_shelf(Session& session);
  void look_at_keys(Session& session);
  void tidied(Session& session, const Call& call, const Reply& reply);
  void tidy_away(Session& session, const Children& queue);

  // Replies.
  void replied_to(const ContenderPtr& contender, const Call& call, const Reply& reply);
  void created(const ContenderPtr& contender, const Reply& reply);
  void listed(const ContenderPtr& contender, const Call& call, const Reply& reply);
  void settled(const ContenderPtr& contender, const Reply& reply);
  void settled_node(const ContenderPtr& contender, const Call& call, const Reply& reply);
  void watching(const ContenderPtr& contender, const Reply& reply);
  void confirmed(const ContenderPtr& contender, const Call& call, const Reply& reply);
  void removed(const ContenderPtr& contender, const Reply& reply);
  void own_watched(const ContenderPtr& contender, const Reply& reply);
  void told_of_holder(const ContenderPtr& contender, const Call& call, const Reply& reply);

  // What is asked of the server once.
  [[nodiscard]] bool send_check(Session& session, const Call& call);
  void checked_parent(Session& session, const Call& call, const Reply& reply);
  void checked(Session& session, const Call& call, const Reply& reply);
  [[nodiscard]] std::optional<Failure> too_short(std::chrono::nanoseconds lease,
                                                 const Session& session) const;
  void replied_to_one_shot(Session& session, const Call& call, const Reply& reply);
  void looked_for_holders(Session& session, const Call& call, const Reply& reply);
  void forced(const Call& call, const Reply& reply);

  // Lists.
  void gathered(Session& session, const Call& call, const Reply& reply);
  static void looked_at_part(const Call& call, const Reply& reply);
  void gather_again(const Call& call);
  [[nodiscard]] bool send_gathering(Session& session, const Call& call);
  void gathered_queue(Session& session, const Call& call, const Reply& reply);
  void gathered_shelves(Session& session, const Call& call, const Children& children);
  void gathered_shelf(Session& session, const Call& call, const Children& children);
  void look_at_each(Session& session, const Call& call,
                    const std::shared_ptr<Gathering>& gathering);
  [[nodiscard]] static bool send_name_look(Session& session, const std::string& path, Call each);
  void answer(const Call& call, Gathering& gathering);
  [[nodiscard]] static Holder holder_of(const Reply& reply, std::string_view node,
                                        std::size_t waiters);

  // Ends.
  void fail(const ContenderPtr& contender, Failure why);
  void gone(const ContenderPtr& contender, Released outcome);
  void forget_node(const ContenderPtr& contender);
  void lose(const ContenderPtr& contender, const std::string& words);
  void lose_and_remove(const ContenderPtr& contender, const std::string& words);
  void end_left(const Session* left);
  void own_node_gone(const ContenderPtr& contender);
  void erase(const ContenderPtr& contender);
  static void watches_no_more(Contender& contender) noexcept;
  void lapse(Instant now);

  // Pulses.
  [[nodiscard]] Instant pulse_due(const Session& session) const;
  void beat(Session& session, Instant now);
  void beaten(Session& session, const Call& call, const Reply& reply);
  [[nodiscard]] ContenderPtr next_to_write(Session& session);
  [[nodiscard]] bool watches_holds() const;
  void watch_own(const ContenderPtr& contender);
  [[nodiscard]] static Instant renewed_from(const Contender& contender);
  static void note(std::vector<AwaitedRenewal>& parts, const Contender& contender,
                   std::size_t item);
  void await(const std::shared_ptr<Renewal>& operation, std::vector<AwaitedRenewal> parts,
             std::vector<std::size_t> lost);
  [[nodiscard]] bool decided(const AwaitedRenewal& part, Instant now) const;
  [[nodiscard]] static Instant end_of_patience(const AwaitedRenewal& part);
  void settle_renewals();
  void settle(const AwaitedRenewal& part);
  void settle_news(const Contender& contender, Instant asked);

  // Doubts.
  void doubt(const Contender& contender);
  void look_at_doubts(Instant now);
  void sweep(Session& session, const std::string& path, const Children& children);
  void drop_doubt(const std::string& prefix);
  [[nodiscard]] bool is_orphan(const Contender& contender, std::int64_t owner) const;
  void tick(Instant now);

  [[nodiscard]] std::string prefix_of(const Contender& contender) const;
  [[nodiscard]] static Paths paths_of(const Contender& contender);
  [[nodiscard]] Naming naming_of(const Contender& contender) const;
  [[nodiscard]] static HoldId hold_id_of(const Contender& contender);
  void remember_queue(const std::string& path);
  static void set(Contender& contender, bool Contender::*flag, bool value) noexcept;
  [[nodiscard]] Failure failure_of(const Reply& reply, const std::string& what) const;
  [[nodiscard]] bool seen_held(const Contender& contender, Instant now) const;
  void remember_holder(const std::string& path, const Place& place);
  void then(std::function<void()> completion) { completions_.push_back(std::move(completion)); }

  const Settings settings_;
  const std::unique_ptr<remote::Tls> tls_;  // null: not encrypted
  const std::string where_;
  Host* host_ = nullptr;
  std::shared_ptr<Clock> clock_;
  std::atomic<bool> stopped_{false};
  std::atomic<std::int64_t> negotiated_ms_{0};
  Alarm alarm_{*this};

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Session>> sessions_;  // made when there is no room in the others
  std::map<AttemptId, ContenderPtr> contenders_;    // in the order of their coming
  /// When a queue was seen held, and when by somebody who wants it alone.
  struct SeenHeld {
    Instant at_all{};
    Instant alone{};
  };
  std::unordered_map<std::string, SeenHeld> held_;
  std::unordered_map<std::string, Instant> queues_;  // that were seen there, and when
  std::vector<Call> outbox_;              // one-shot operations for when there is a connection
  std::vector<AwaitedRenewal> renewals_;  // that wait for a pulse
  std::vector<Doubt> doubts_;
  Tidying tidying_;
  std::vector<std::function<void()>> completions_;
  Instant next_look_ = never;  // at holds that lapse, and queues that drain
};

}  // namespace mortise::zookeeper
