// SPDX-License-Identifier: MIT
// Turns the results of statements into results of requests.
#pragma once

#include "postgres/answer.hpp"
#include "postgres/grants.hpp"
#include "postgres/parts.hpp"
#include "postgres/yields.hpp"

namespace mortise::postgres {

/// @thread_safety every member may be called concurrently
class Answers {
 public:
  /// @param parts, yields outlive it
  Answers(Parts& parts, Yields& yields) : parts_(parts), yields_(yields) {}

  void answered(const Call& call, const Result& result);
  /// A call that counts as unanswered, since its connection stood still, was answered after all.
  /// @param result null: its transaction has failed
  void answered_late(const Call& call, const Result* result);

 private:
  void release(const Call& call, const Result& result);
  void complete(const Call& call, ReleaseOutcome outcome, bool before);
  void renewal(const Call& call, const Result& result);
  void force(const Call& call, const Result& result);
  void inspection(const Call& call, const Result& result);
  void recall(const Call& call, const Result& result);
  void check(const Call& call, const Result& result);
  void check_again(const Call& call, Call::Text text);
  void census(const Call& call, const Result& result);
  void wake(const Call& call);
  void list(const Call& call, const Result& result);
  void queue(const Call& call, const Result& result);
  void refused(const Call& call, const PqError& error);
  void nonsense(const Call& call);

  Parts& parts_;
  Yields& yields_;
  Grants grants_{parts_};
};

}  // namespace mortise::postgres
