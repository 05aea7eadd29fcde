// SPDX-License-Identifier: MIT
// An attempt for a key of `Once`. It first reads the record, which ends most attempts. A client
// that is to run makes a node in the queue, as for a lock. But the order of the queue only decides
// which client tries first: a write of the record gives it the key (RunBegin).
#include "base/mutant.hpp"
#include "core/figures.hpp"
#include "core/verdict.hpp"
#include "zookeeper/key_run.hpp"
#include "zookeeper/questions.hpp"
#include "zookeeper/queue_course.hpp"
#include "zookeeper/seen_queues.hpp"

#include <algorithm>
#include <optional>

namespace mortise::zookeeper {
namespace {

class KeyCourse final : public RunCourse {
 public:
  using RunCourse::RunCourse;

  void release(const std::shared_ptr<Release>& release) override {
    if (!releases().has(*release)) outcome_.set(release->conclusion());
    QueueCourse::release(release);
  }
  // The outcome may be recorded: the next session can ask for that.
  void ended(const Failure& why, bool at_server, bool final) override {
    const bool is_leaving = phase() == Phase::leaving || phase() == Phase::standing;
    if (is_leaving && outcome_.has_outcome() && node().may_be_removed() && !final) {
      for (const auto& release : releases().take()) {
        parts().questions->begin(recognition(parts(), release, true, !at_server));
      }
    }
    QueueCourse::ended(why, at_server, final);
  }
  void forget_node() override {
    let_go_of_record();
    QueueCourse::forget_node();
    recall_again();
    begin_.forget();
  }
  // The record comes first: the node that runs the key by that record is in the list behind it. The
  // shelf comes before the record, in the same flight; there is none as long as nothing is kept.
  void look() override {
    const auto counted = [this](const Reply& reply) {
      if (reply.code == Code::ok) set_removals(reply.version);
      if (reply.code == Code::no_node) set_removals(0);
    };
    const auto read = [this](const Reply& reply) { static_cast<void>(read_record(reply)); };
    ask({Ask::exists, claim().key.shelf}, counted);
    ask({Ask::get, claim().key.kept}, read);
    QueueCourse::look();
  }
  void let_go() override {
    QueueCourse::let_go();
    let_go_of_record();
  }
  void begun(const Reply& reply) override {
    if (is_leaving() || is_held() || !read_record(reply)) return drive();
    node().is_there() && is_runner() ? run() : drive();
  }

 protected:
  void take() override {
    if (!is_recalled()) {
      parts().ask_for_time(session(), needs_time_);
      const auto read = [this](const Reply& reply) { recalled(reply); };
      ask_in_sync({Ask::get, claim().key.kept}, read);
      return;
    }
    if (!memo().there) return begin_.make_both();
    if (!claim().wait && memo().pending() && !has_peeked()) return;
    node().make(operation().get());
  }
  void peeked(const Children& children) override {
    if (find_prefix(children, memo().kept.runner).empty()) return drive();
    holder().set_waiters(marked(children, claim().key.mark).size() - 1);
    leave_with_holder();
  }
  // The list came behind the record, so the node that runs the key by that record is in the list,
  // if it still runs it.
  void place(const Children& children) override {
    const Children its = marked(children, claim().key.mark);
    const bool is_there = std::find(its.begin(), its.end(), node().name()) != its.end();
    if (is_there && is_runner()) return run();
    runner_.clear();
    if (memo().pending() && !base::mutant("zookeeper.two_runners")) {
      const std::string_view runner = find_prefix(children, memo().kept.runner);
      if (!runner.empty()) runner_ = path_below(claim().queue, runner);
    }
    if (!is_answered(!runner_.empty())) stand(its);
  }
  void first_in_line(const Place& place) override {
    if (runner_.empty()) return begin_.write();
    // The runner found no record and began at once. Its node stands behind this one.
    if (!stays_behind(place)) return;
    Place behind = place;
    behind.predecessor = runner_.substr(claim().queue.size() + 1);
    behind.ahead = 1;
    wait_behind(behind);
  }
  bool stays_behind(const Place& place) override {
    if (!claim().wait) {
      leave_with_holder();
      return false;
    }
    holder().set_waiters(place.waiters());
    watch_record();
    return true;
  }
  // The node before it has gone, and no other is ahead. If it was the runner's by the present
  // record, its turn has come.
  void next_in_line() override {
    const bool was_runner =
        is_next() && watches_record_ && memo().pending() && predecessor() == runner_ &&
        runner_.compare(claim().queue.size() + 1, memo().kept.runner.size(), memo().kept.runner) ==
            0;
    was_runner && !is_asking() ? begin_.write() : look_soon();
  }
  void report_queued(const Reply& /*reply*/) override {
    if (operation()) operation()->queued(runner());
  }
  void changed(std::string_view path, bool gone) override {
    if (path != claim().key.kept) return QueueCourse::changed(path, gone);
    watches_record_ = false;
    if (!operation() || is_leaving() || begin_.is_under_way()) return;
    // A run has failed, and another one has begun: a waiter goes on watching. After an outcome
    // there is as a rule nothing to watch any more.
    if (!memo().pending()) return watch_record();
    const auto read = [this](const Reply& reply) { watching_record(false, reply); };
    ask({Ask::get, claim().key.kept}, read);
  }
  void remove() override { outcome_.has_outcome() ? outcome_.write() : QueueCourse::remove(); }

 private:
  void recalled(const Reply& reply) {
    if (is_leaving()) return drive();
    if (!read_record(reply)) return;
    if (!needs_time_ && memo().may_be_over(leaders_time())) {
      needs_time_ = true;
      return drive();
    }
    set_recalled();
    // It is not known yet whether a client runs it.
    if (!is_answered(memo().pending() && !memo().is_over(leaders_time()))) drive();
  }
  /// @param is_run whether its runner's node stands, as far as is known
  /// @return true if the record answers the caller. The attempt leaves then
  [[nodiscard]] bool is_answered(bool is_run) {
    Record record = memo().record(is_run, leaders_time());
    if (base::mutant("zookeeper.another_request_is_answered")) {
      record.fingerprint = memory().fingerprint;
    }
    const core::Verdict verdict = core::judge(memory(), record);
    if (verdict != core::Verdict::replay && verdict != core::Verdict::mismatch) return false;
    // The bytes belong to another request.
    if (verdict == core::Verdict::mismatch) record.bytes.clear();
    if (const auto operation = take_operation()) {
      parts().then([operation, record = std::make_shared<const Record>(std::move(record))] {
        operation->trouble(Failure{});
        operation->recorded(record);
      });
    }
    set_phase(Phase::leaving);
    drive();
    return true;
  }
  [[nodiscard]] std::optional<Holder> runner() {
    if (!memo().pending()) return std::nullopt;
    return Holder{.label = memo().kept.label.substr(0, core::longest_label),
                  .token = Token(memo().kept.record.number * core::tokens_in_a_grant),
                  .expires_in = {},
                  .waiters = holder().waiters()};
  }
  void leave_with_holder() {
    if (const auto operation = take_operation()) {
      parts().then([operation, holder = runner()] { operation->busy(holder); });
    }
    set_phase(Phase::leaving);
    drive();
  }
  void run() {
    const Instant now = parts().now();
    parts().seen->add(claim().queue, now);
    parts().seen->add(claim().key.shelf, now);
    hold().run = memo().kept.record.run;
    outcome_.set_version(memo().version);
    hold().prove(static_cast<std::int64_t>(memo().kept.record.number));
  }
  // A client that runs the key after each outcome waits as for a lock: no outcome answers it.
  void watch_record() {
    if (watches_record_ || memory().repeat == Repeat::always) return;
    const auto read = [this](const Reply& reply) { watching_record(true, reply); };
    if (!ask({Ask::get_and_watch, claim().key.kept}, read)) return;
    session().watches().add(claim().key.kept, shared_from_this());
    watches_record_ = true;
  }
  void let_go_of_record() {
    if (std::exchange(watches_record_, false)) session().unwatch(claim().key.kept, *this);
  }
  /// @param is_watched the record is watched from then on
  void watching_record(bool is_watched, const Reply& reply) {
    if (is_watched && reply.code != Code::ok && std::exchange(watches_record_, false)) {
      // There is no news of a record that is not there. It is read again with the queue.
      session().watches().remove(claim().key.kept, *this);
    }
    if (is_leaving() || is_held()) return drive();
    if (!read_record(reply) || is_answered(memo().pending())) return;
    if (!is_watched && is_watching() && !has_changed()) watch_record();
    drive();
  }

  std::string runner_{};     // path of the node that ran it when the queue was listed
  bool needs_time_ = false;  // precisely, because the record may be over just now
  bool watches_record_ = false;
  RunBegin begin_{*this};
  OutcomeWriter outcome_{*this};
};

}  // namespace

std::shared_ptr<Course> key_course(NewAttempt its) {
  return std::make_shared<KeyCourse>(std::move(its));
}

}  // namespace mortise::zookeeper
