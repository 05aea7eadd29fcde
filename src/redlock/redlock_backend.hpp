// SPDX-License-Identifier: MIT
// The backend of a quorum: asks all servers at once and makes one answer of theirs.
#pragma once

#include <mortise/backend.hpp>

#include "base/random_id.hpp"
#include "redlock/copies.hpp"
#include "redlock/holds.hpp"
#include "redlock/node.hpp"
#include "redlock/outbox.hpp"
#include "redlock/quorum_request.hpp"
#include "redlock/requests.hpp"
#include "redlock/settings.hpp"
#include "redlock/trail.hpp"
#include "redlock/whereabouts.hpp"
#include "remote/stream/tls.hpp"
#include "remote/timer.hpp"

#include <algorithm>
#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace mortise::redlock {

/// The calling thread writes to every server and reads until a majority has answered. Nothing is
/// asked while fewer than a majority are connected. A round that is lost is undone at once, behind
/// its own requests on the same connections; a server that cannot be told is told when it is
/// back, by whatever address leads there.
///
/// Mutexes: a quorum request's, the tables', the nodes', the connections'. None is held while a
/// connection, another quorum request or the library is called; `withdrawn()`, under a
/// connection's, looks at atomics and at `Holds` only.
class RedlockBackend final : public Backend, private Node::User {
 public:
  /// @throws Error (`misconfigured`): a file of the TLS settings
  explicit RedlockBackend(Settings settings);
  ~RedlockBackend() override;

  [[nodiscard]] Capabilities capabilities() const override;
  [[nodiscard]] std::string describe() const override { return words_; }
  [[nodiscard]] std::string why_not(Mode mode) const override;
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
  [[nodiscard]] Failure without(Mode mode) const;
  using Lock = std::unique_lock<std::mutex>;
  using Calls = std::list<redis::Call>;  // they go from hand to hand without memory

  /// The moments at which attempts that wait try again.
  class Alarm final : public Source {
   public:
    explicit Alarm(RedlockBackend& backend) : backend_(backend) {}
    void set(const std::shared_ptr<QuorumAttempt>& attempt, Instant when);
    /// Has what servers refused for now sent once more.
    void set_outbox_due(Instant when);
    [[nodiscard]] Instant due() const noexcept override {
      return std::min(outbox_due_.get(), attempts_.next());
    }
    void ready(short events, Instant now) override;

   private:
    RedlockBackend& backend_;
    std::mutex mutex_;
    remote::Timer<std::weak_ptr<QuorumAttempt>> attempts_;
    remote::Moment outbox_due_;
  };

  // Node::User
  void recognise(Node& node, const std::string& run_id) override;
  void up(Node& node) override;
  void breaks(Node& node, const std::list<redis::Call>& unanswered) override;
  void down(Node& node, bool was_up, Calls unanswered) override;
  void answered(Node& node, const redis::Call& call, const redis::Reply& reply) override;
  [[nodiscard]] bool withdrawn(const redis::Call& call) const override;
  void listens(Node& node) override;
  void hinted(Node& node, const AttemptId& id) override;
  [[nodiscard]] bool awaits() const noexcept override { return awaited_.load() > 0; }

  // Sending: redlock_backend.cpp.
  [[nodiscard]] bool open(Operation& operation);
  [[nodiscard]] bool send(Node& node, redis::Call call);
  /// The same, if the address leads to that server now.
  [[nodiscard]] bool send_to(std::uint64_t server, Node& node, redis::Call call);
  /// The same on the connection that the call names.
  [[nodiscard]] bool send_on(Node& node, redis::Call call);
  void write(std::string& bytes, const redis::Call& call, const Node& node) const;
  void write_take(std::string& bytes, const Passage& passage, const QuorumAttempt& attempt,
                  bool interested) const;
  void look(const std::shared_ptr<Looking>& looking);
  void look_at(const std::shared_ptr<Looking>& looking, NodeSet nodes);

  // Servers that come and go: redlock_reach.cpp.
  [[nodiscard]] NodeSet usable() const noexcept;
  void want_missing(NodeSet usable, bool now);
  void tell_of_the_end(Node& node, bool clear_now);
  /// A quorum request that a hold will rest on. Before it is looked which servers can be asked.
  void begin(Roll& roll) const;
  /// Has those addresses connected anew of which it has to be known where they lead by now.
  void settle_doubts(Instant now);
  /// Has addresses that are in doubt connected anew.
  void lead_anew(NodeSet doubted);
  /// @return that two addresses lead to one server, or may; none = they do not.
  [[nodiscard]] Failure twins(Instant now) const;
  [[nodiscard]] Failure unreachable(const std::vector<Failure>& failures, bool& final) const;
  void tell_unreachable(const std::shared_ptr<QuorumAttempt>& attempt);
  /// Notes in a request that stays unanswered why a majority cannot be asked, if that is so.
  void tell_trouble(Operation& operation) const;

  // What is taken back: redlock_outbox.cpp.
  /// The client is being closed, and nobody reads any more: what servers that can be reached were
  /// told last they may not have done.
  void give_back_the_rest();
  /// @return what all addresses lead to, or led to last.
  [[nodiscard]] Trail everywhere() const;
  /// Tells its server that something is over, by whatever addresses lead there, now or later.
  void tell(redis::Call call);
  /// Sends a server its outbox. @param comes_up also that of those which it may be
  void send_outbox(Node& node, bool comes_up);
  /// Some time later, what was refused, or is for a server that no address leads to.
  void send_outbox_later();
  /// Has addresses that lead to one server connected anew, as long as something waits for
  /// another one.
  void lead_home();
  void see_to_outbox(Instant now);
  /// There was no memory for what follows from it that one call was not answered: soon there is.
  void keep(Calls alone) noexcept;
  void see_to_kept();
  [[nodiscard]] redis::Call call_of(const std::shared_ptr<Freeing>& freeing,
                                    const Trail::Stop& where) const;
  /// A server took a vote back. Repeats that later if a request for the vote may still arrive.
  void repeat_if_copies(Node& node, const redis::Call& call, redis::ServerTime at);
  /// What a server was asked in an earlier step it may execute yet.
  void in_doubt(const std::shared_ptr<QuorumAttempt>& attempt, const Trail::Stop& where);

  // Attempts: redlock_attempts.cpp.
  std::shared_ptr<QuorumAttempt> quorum_attempt_of(const std::shared_ptr<Acquisition>& operation,
                                                   bool make);
  [[nodiscard]] std::vector<std::shared_ptr<QuorumAttempt>> attempts();
  void forget(const QuorumAttempt& attempt);
  void ask(const std::shared_ptr<QuorumAttempt>& attempt);
  void ask_nodes(const std::shared_ptr<QuorumAttempt>& attempt, NodeSet nodes, std::uint32_t step);
  /// @param at the server that is about to be asked, and now
  /// @return whether it is for the first time; nothing: another round has begun
  static std::optional<bool> note_asked(QuorumAttempt& attempt, std::uint32_t step,
                                        const Trail::Stop& at, bool interested);
  void not_asked(const std::shared_ptr<QuorumAttempt>& attempt, std::uint64_t server,
                 Instant asked);
  void join(const std::shared_ptr<QuorumAttempt>& attempt, Node& node);
  void judge(const std::shared_ptr<QuorumAttempt>& attempt, Lock lock);
  void settle(const std::shared_ptr<QuorumAttempt>& attempt, Lock lock);
  void win(const std::shared_ptr<QuorumAttempt>& attempt, Lock lock);
  void lose(const std::shared_ptr<QuorumAttempt>& attempt, Lock lock);
  [[nodiscard]] Instant next_try(const QuorumAttempt& attempt, Instant now);
  void wake(const std::shared_ptr<QuorumAttempt>& attempt, Lock lock, Instant when);
  [[nodiscard]] std::uint64_t propose() noexcept;
  [[nodiscard]] std::chrono::nanoseconds random(std::chrono::nanoseconds from,
                                                std::chrono::nanoseconds to);
  [[nodiscard]] bool hints_come(const QuorumAttempt& attempt) const noexcept;

  // What an attempt takes back: redlock_undoing.cpp.
  void undo(const std::shared_ptr<QuorumAttempt>& attempt, const Trail& servers,
            std::uint32_t step);
  void remains_untold(QuorumAttempt& attempt, std::uint32_t step);
  void finish_cancel(const std::shared_ptr<QuorumAttempt>& attempt, Lock lock);

  // Replies: redlock_replies.cpp.
  void on_take(Node& node, const redis::Call& call, VoteReply reply);
  void on_late_take(Node& node, const redis::Call& call);
  void on_settle(Node& node, const redis::Call& call, const VoteReply& reply);
  void on_undo(Node& node, const redis::Call& call, const VoteReply& reply);
  void on_free(Node& node, const redis::Call& call, const VoteReply& reply);
  void on_look(Node& node, const redis::Call& call, VoteReply reply);
  void note_unanswered(const Node& node, const redis::Call& call);
  void refused(Node& node, const redis::Call& call, const redis::Reply& reply);
  bool vote_late(const std::shared_ptr<QuorumAttempt>& attempt, std::uint32_t step, NodeSet nodes);
  void nonsense(Node& node, const redis::Call& call);
  void no_answer(Node& node, const redis::Call& call, const Failure& why);
  /// @param broke its connection did: the server may have it, or have it yet
  void no_answer(Node& node, const redis::Call& call, const Failure& why, bool broke);
  void no_vote(Node& node, const redis::Call& call, const Failure& why);
  void no_vote(Node& node, const redis::Call& call, const Failure& why, bool broke);
  [[nodiscard]] Holds::End end_of(const std::shared_ptr<Release>& release);
  void tell_all(const Holds::End& end);
  void tell_again(Freeing& freeing, const redis::Call& call);
  void judge(const std::shared_ptr<Freeing>& freeing, Lock lock);
  void judge(const std::shared_ptr<Looking>& looking, Lock lock);
  [[nodiscard]] std::optional<Holder> holder_of(
      const std::vector<std::pair<std::size_t, VoteReply>>& answers, bool& decided) const;

  // Administrators: redlock_listing.cpp.
  /// Under its mutex, as what follows. @return whether servers that have not answered yet may make
  /// a majority of the votes that others tell of.
  [[nodiscard]] bool may_name_more(const Looking& looking) const;
  [[nodiscard]] std::vector<Looking::Vote> holds_of(const Looking& looking) const;
  void answer_holds(Looking& looking, const std::optional<Holder>& holder);

  // Holds: redlock_renewals.cpp.
  void on_renew(Node& node, const redis::Call& call, const VoteReply& reply);
  void judge(const std::shared_ptr<Renewing>& renewing, Lock lock);
  void renew_apart(const std::shared_ptr<Renewal>& renewal);
  void give_back_what_is_lost(const Renewing& renewing, const std::vector<Tally>& verdicts);
  void relock(const Renewal::Item& item, NodeSet nodes);
  void relock(const QuorumAttempt& attempt, NodeSet nodes);

  const Settings settings_;
  const std::string words_;
  const Quorum quorum_;
  const std::unique_ptr<remote::Tls> tls_;
  const Requests requests_;
  Host* host_ = nullptr;
  std::shared_ptr<Clock> clock_;
  Holds holds_;
  Copies copies_;
  Outbox outbox_;
  Alarm alarm_{*this};
  std::vector<std::unique_ptr<Node>> nodes_;
  std::atomic<bool> stopped_{false};
  std::atomic<bool> attached_{false};
  std::atomic<int> awaited_{0};
  std::atomic<std::uint64_t> last_number_{0};
  Whereabouts whereabouts_;

  mutable std::mutex mutex_;
  std::unordered_map<AttemptId, std::shared_ptr<QuorumAttempt>, AttemptHash> attempts_;
  std::size_t sweep_at_ = 256;
  std::vector<std::shared_ptr<Looking>> lookings_;
  Calls kept_;
  base::SplitMix random_;
};

}  // namespace mortise::redlock
