// SPDX-License-Identifier: MIT
// Questions about keys: the record of one, and whether the outcome of a run was recorded.
#include "base/mutant.hpp"
#include "remote/outbox.hpp"
#include "zookeeper/questions.hpp"

#include <optional>

namespace mortise::zookeeper {
namespace {

class RecallQuestion final : public Question {
 public:
  RecallQuestion(Parts& parts, const std::shared_ptr<Recollection>& operation)
      : Question(parts, operation),
        place_(KeyPlace::of(parts.settings.root, operation->key())),
        forgets_(operation->kind() == Recollection::Kind::forget) {}

 protected:
  [[nodiscard]] bool begin() override {
    memo_ = {};
    parts_.ask_for_time(session(), is_precise_);
    const auto counted = [this](const Reply& reply) { memo_.removals = reply.version; };
    if (forgets_ && !ask({Ask::exists, place_.shelf}, counted)) return false;
    const auto looked = [this](const Reply& reply) { read(reply); };
    // The list comes behind the record: the node that runs the key by that record is in the list.
    const auto listed = [this](const Reply& reply) {
      if (!memo_.pending() || !is_found(reply, place_.queue)) return;
      decide(!find_prefix(children_of(reply), memo_.kept.runner).empty());
    };
    return ask_in_sync({Ask::get, place_.kept}, looked) && ask({Ask::list, place_.queue}, listed);
  }

 private:
  void read(const Reply& reply) {
    if (!is_found(reply, place_.kept)) return;
    if (reply.code == Code::ok) {
      std::optional<Memo> memo = Memo::read(reply);
      if (!memo || !memo->is_of(operation_as<Recollection>()->key())) {
        return fail(parts_.other_record(place_.kept, memo.has_value()));
      }
      memo->removals = memo_.removals;
      memo_ = *std::move(memo);
    }
    if (!is_precise_ && memo_.may_be_over(session().leaders_clock().time(parts_.now()))) {
      is_precise_ = true;
      return require(start());
    }
    if (!memo_.pending()) decide(false);
  }
  // Removes the record as it was found, or not at all: a run that began since has written it, and a
  // removal since then has written the shelf.
  void decide(bool is_run) {
    const bool goes =
        forgets_ && memo_.there && (!is_run || base::mutant("zookeeper.forgets_a_pending_key"));
    if (!goes) return tell(is_run);
    std::vector<Request> writes{
        {.kind = Ask::set, .path = place_.shelf, .version = memo_.removals}};
    writes.push_back({.kind = Ask::remove, .path = place_.kept, .version = memo_.version});
    const auto removed = [this](const Reply& reply) {
      if (reply.code == Code::other_version) return require(start());
      if (is_found(reply, place_.kept)) tell(false);
    };
    require(ask(Request::all(std::move(writes)), removed));
  }
  void tell(bool is_run) {
    complete([recollection = operation_as<Recollection>(),
              record = std::make_shared<const Record>(
                  memo_.record(is_run, session().leaders_clock().time(parts_.now())))] {
      recollection->answered(record);
    });
  }

  const KeyPlace place_;
  const bool forgets_;
  Memo memo_{};
  bool is_precise_ = false;  // the leader's time was asked for
};

class Recognition final : public Question {
 public:
  Recognition(Parts& parts, const std::shared_ptr<Release>& operation, bool was_sent, bool may_come)
      : Question(parts, operation), was_sent_(was_sent), may_come_(may_come) {}

  // The library repeats a release, but not one that has failed.
  [[nodiscard]] remote::Purpose purpose() const noexcept override {
    return remote::Purpose::release;
  }
  // Without an answer the outcome may be recorded.
  void fail(Failure why) override {
    if (was_sent_ && !remote::is_final(why)) why.code = Errc::in_doubt;
    Question::fail(std::move(why));
  }

 protected:
  [[nodiscard]] bool begin() override {
    const std::string& name = operation_as<Release>()->hold().name;
    const std::string kept = KeyPlace::of(parts_.settings.root, name).kept;
    return ask_in_sync({Ask::get, kept}, [this, kept](const Reply& reply) {
      if (is_found(reply, kept)) decide(Memo::found(reply));
    });
  }

 private:
  void decide(const Memo& memo) {
    const auto release = operation_as<Release>();
    const bool is_ours = is_written_by(memo, release->hold());
    const bool is_sure = !was_sent_ || (!may_come_ && is_as_begun(memo, release->hold()));
    if (!is_ours && !is_sure) return Question::fail(in_doubt(parts_, release->hold().name));
    complete([release, is_ours] {
      release->answered(is_ours ? Released::released : Released::was_lost);
    });
  }

  const bool was_sent_;
  const bool may_come_;
};

}  // namespace

bool is_written_by(const Memo& memo, const HoldId& hold) {
  return memo.there && !memo.pending() && memo.is_of(hold.name) &&
         memo.kept.record.number == hold.number && memo.kept.attempt == hold.attempt.text() &&
         !base::mutant("zookeeper.writer_is_not_remembered");
}

bool is_as_begun(const Memo& memo, const HoldId& hold) {
  return memo.pending() && memo.kept.record.number == hold.number;
}

Failure in_doubt(const Parts& parts, const std::string& key) {
  return parts.failure(
      Errc::in_doubt,
      key + ": the outcome was not recorded, or it was replaced or forgotten since");
}

QuestionPtr question(Parts& parts, const std::shared_ptr<Recollection>& operation) {
  return std::make_shared<RecallQuestion>(parts, operation);
}

QuestionPtr recognition(Parts& parts, const std::shared_ptr<Release>& operation, bool was_sent,
                        bool may_come) {
  return std::make_shared<Recognition>(parts, operation, was_sent, may_come);
}

}  // namespace mortise::zookeeper
