// SPDX-License-Identifier: MIT
// The requests of the library for which the client has no attempt: which client holds a name, what
// is kept of a key, the end of another client's hold. A question takes one or more requests to the
// server. After a lost connection it begins again with the first of them, because the data may
// be out of date. The table of src/remote decides whether it is asked again at all.
#pragma once

#include <mortise/listing_operation.hpp>

#include "remote/purpose.hpp"
#include "remote/waiting_calls.hpp"
#include "zookeeper/kept.hpp"
#include "zookeeper/parts.hpp"
#include "zookeeper/session.hpp"

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::zookeeper {

class Questions;

class Question : public std::enable_shared_from_this<Question> {
 public:
  Question(Parts& parts, std::shared_ptr<Operation> operation)
      : parts_(parts), operation_(std::move(operation)) {}
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;
  virtual ~Question() = default;

  [[nodiscard]] virtual remote::Purpose purpose() const noexcept {
    return remote::Purpose::question;
  }
  [[nodiscard]] const std::shared_ptr<Operation>& operation() const noexcept { return operation_; }
  /// Begins with its first request. @return false: there is no connection
  [[nodiscard]] bool start() {
    ++round_;
    return begin();
  }
  /// Its caller gets an error.
  virtual void fail(Failure why);

 protected:
  /// Sends the first request, and those that need not wait for its answer.
  [[nodiscard]] virtual bool begin() = 0;
  /// The answer to a request of it was lost.
  virtual void lose() {}

  /// Asks a server. @param heed receives the reply, if it comes in this round
  /// @return false: there is no connection
  [[nodiscard]] bool ask(Request request, Calls::Answer heed);
  /// The same, with data that the leader has by now.
  [[nodiscard]] bool ask_in_sync(Request request, Calls::Answer heed);
  /// @return false: the reply is neither what was asked for nor that it is not there. The question
  /// has failed
  [[nodiscard]] bool is_found(const Reply& reply, const std::string& what);
  /// A further request could not be sent: it begins again.
  void require(bool is_sent);
  /// It has its answer.
  void complete(std::function<void()> completion);
  /// Right before a list, in the same flight: compares the name that a node keeps.
  [[nodiscard]] bool compare_name(const std::string& name, const std::string& node);
  template <class Kind>
  [[nodiscard]] std::shared_ptr<Kind> operation_as() const {
    return std::static_pointer_cast<Kind>(operation_);
  }

  /// All questions go through the first session of a client.
  [[nodiscard]] Session& session() const;

  Parts& parts_;

 private:
  [[nodiscard]] Calls::Answer answer(Calls::Answer heed);

  const std::shared_ptr<Operation> operation_;
  std::uint32_t round_ = 0;  // answers of earlier rounds are dropped
};

using QuestionPtr = std::shared_ptr<Question>;
// In lock_questions.cpp.
[[nodiscard]] QuestionPtr question(Parts& parts, const std::shared_ptr<Inspection>& operation);
[[nodiscard]] QuestionPtr question(Parts& parts, const std::shared_ptr<Check>& operation);
/// Of a release by force.
[[nodiscard]] QuestionPtr question(Parts& parts, const std::shared_ptr<Release>& operation);
// In key_questions.cpp.
[[nodiscard]] QuestionPtr question(Parts& parts, const std::shared_ptr<Recollection>& operation);
/// Was the outcome of a run recorded, whose node is gone?
/// @param was_sent it was sent, and the answer was lost
/// @param may_come that request may still be executed
[[nodiscard]] QuestionPtr recognition(Parts& parts, const std::shared_ptr<Release>& operation,
                                      bool was_sent, bool may_come);
/// @return true if the outcome of that run was written by its own release.
[[nodiscard]] bool is_written_by(const Memo& memo, const HoldId& hold);
/// @return true if the record is as it was when that run began: nothing was recorded of it.
[[nodiscard]] bool is_as_begun(const Memo& memo, const HoldId& hold);
/// @return the failure if the record shows neither.
[[nodiscard]] Failure in_doubt(const Parts& parts, const std::string& key);
// In list_question.cpp and queue_question.cpp.
[[nodiscard]] QuestionPtr question(Parts& parts, const std::shared_ptr<Listing>& operation);
[[nodiscard]] QuestionPtr question(Parts& parts, const std::shared_ptr<QueueLook>& operation);

/// Those that have no answer yet.
class Questions {
 public:
  explicit Questions(Parts& parts) noexcept : parts_(parts) {}

  void begin(const QuestionPtr& question);
  /// @return true if there is one for that operation.
  [[nodiscard]] bool is_asking(const Operation& operation) const;
  /// @param reply `Code::not_done`: the server refused a request of it. Otherwise the connection
  /// broke
  void unanswered(const QuestionPtr& question, const Reply& reply);

  /// The session has a connection.
  void connected() { ask_all(waiting_.take(session())); }
  /// Its connection broke or could not be made. @param final the next one will fail as well
  void lost(const Failure& why, bool final);
  [[nodiscard]] Instant due() const noexcept { return waiting_.due(); }
  void tick(Instant now) { ask_all(waiting_.take_due(now)); }
  /// The client closes. @return the operations that have no answer
  [[nodiscard]] std::vector<std::shared_ptr<Operation>> close();

 private:
  struct Call {
    QuestionPtr operation{};
    [[nodiscard]] remote::Purpose purpose() const noexcept { return operation->purpose(); }
  };
  using Waiting = remote::WaitingCalls<Call, Session>;

  void ask(const QuestionPtr& question);
  void ask_all(Waiting::Calls calls);
  void keep(const QuestionPtr& question);

  /// The one of all questions.
  [[nodiscard]] Session& session() const;

  Parts& parts_;
  Waiting waiting_;
  std::list<std::weak_ptr<Question>> open_;
};

}  // namespace mortise::zookeeper
