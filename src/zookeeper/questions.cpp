// SPDX-License-Identifier: MIT
#include "zookeeper/questions.hpp"

#include "zookeeper/lock_path.hpp"
#include "zookeeper/sessions.hpp"

#include <algorithm>
#include <chrono>

namespace mortise::zookeeper {
namespace {

using remote::Fate;

/// @return true if only the client knows the operation.
bool is_unattended(const Question& question) {
  return question.operation()->done() || question.operation().use_count() == 1;
}

}  // namespace

void Question::fail(Failure why) {
  ++round_;
  parts_.fail(operation_, std::move(why));
}

bool Question::ask(Request request, Calls::Answer heed) {
  return session().ask(std::move(request), answer(std::move(heed)));
}

bool Question::ask_in_sync(Request request, Calls::Answer heed) {
  return session().ask_in_sync(std::move(request), answer(std::move(heed)));
}

Calls::Answer Question::answer(Calls::Answer heed) {
  return [self = shared_from_this(), round = round_, heed = std::move(heed)](const Reply& reply) {
    if (self->operation_->done() || round != self->round_) return;
    if (is_answer(reply.code)) return heed(reply);
    ++self->round_;
    if (is_lost(reply.code)) self->lose();
    self->parts_.questions->unanswered(self, reply);
  };
}

bool Question::is_found(const Reply& reply, const std::string& what) {
  if (reply.code == Code::ok || reply.code == Code::no_node) return true;
  fail(parts_.failure_of(reply, what));
  return false;
}

void Question::require(bool is_sent) {
  if (is_sent) return;
  ++round_;
  parts_.questions->unanswered(shared_from_this(), {.code = Code::unknown});
}

void Question::complete(std::function<void()> completion) {
  ++round_;
  parts_.then(std::move(completion));
}

bool Question::compare_name(const std::string& name, const std::string& node) {
  return name_to_keep(name).empty() || ask_in_sync({Ask::get, node}, [=, this](const Reply& reply) {
           if (is_found(reply, node) && reply.code == Code::ok && reply.text != name) {
             fail(parts_.other_name(node));
           }
         });
}

Session& Question::session() const { return parts_.sessions->front(); }

Session& Questions::session() const { return parts_.sessions->front(); }

bool Questions::is_asking(const Operation& operation) const {
  return std::any_of(open_.begin(), open_.end(), [&](const auto& each) {
    const QuestionPtr question = each.lock();
    return question && question->operation().get() == &operation;
  });
}

void Questions::begin(const QuestionPtr& question) {
  std::erase_if(open_, [](const auto& each) { return each.expired(); });
  open_.push_back(question);
  ask(question);
}

void Questions::ask(const QuestionPtr& question) {
  if (question->start()) return;
  if (!question->operation()->in_trouble()) session().urge(parts_.now());
  keep(question);
}

void Questions::keep(const QuestionPtr& question) {
  if (session().trouble()) question->operation()->trouble(session().trouble());
  waiting_.add_line(session());  // there may have been no memory for it before
  waiting_.keep(session(), {Call{.operation = question}});
}

void Questions::ask_all(Waiting::Calls calls) {
  for (const Call& call : calls) {
    if (!is_unattended(*call.operation)) ask(call.operation);
  }
}

void Questions::lost(const Failure& why, bool final) {
  for (const Call& call : waiting_.take(session())) {
    if (is_unattended(*call.operation)) continue;
    const Fate fate = remote::fate_of_lost(call.operation->purpose(), final, false);
    final || fate == Fate::fail ? call.operation->fail(why) : keep(call.operation);
  }
}

void Questions::unanswered(const QuestionPtr& question, const Reply& reply) {
  const remote::Purpose purpose = question->purpose();
  const Fate fate = reply.code == Code::not_done ? remote::fate_of_refused(purpose, false)
                                                 : remote::fate_of_lost(purpose, false, true);
  Failure why = parts_.failure(Errc::unavailable, words_of(reply));
  if (fate == Fate::fail) return question->fail(std::move(why));
  if (fate == Fate::keep) return keep(question);
  question->operation()->trouble(std::move(why));
  waiting_.repeat_at({.operation = question}, parts_.now() + after_a_refusal);
}

std::vector<std::shared_ptr<Operation>> Questions::close() {
  std::vector<std::shared_ptr<Operation>> operations;
  for (const auto& each : open_) {
    if (const QuestionPtr question = each.lock()) operations.push_back(question->operation());
  }
  static_cast<void>(waiting_.close());
  return operations;
}

}  // namespace mortise::zookeeper
