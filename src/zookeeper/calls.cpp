// SPDX-License-Identifier: MIT
#include "zookeeper/calls.hpp"

#include "base/one_by_one.hpp"

namespace mortise::zookeeper {

void Calls::add(Request request, Answer answer, bool is_in_sync) {
  if (request.kind == Ask::create_container && !has_containers_) request.kind = Ask::create;
  calls_.emplace_hint(
      calls_.end(), added_ + 1,
      Call{.request = std::move(request), .answer = std::move(answer), .is_in_sync = is_in_sync});
  ++added_;
}

std::optional<Calls::Call> Calls::take(std::uint64_t number, const Reply& reply) {
  const auto found = calls_.find(number);
  if (found == calls_.end()) return std::nullopt;
  std::optional<Call> call = std::move(found->second);
  calls_.erase(found);
  if (--under_way_ == 0) silent_since_ = never;
  const Ask kind = call->request.kind;
  if (kind == Ask::create_container && reply.code == Code::unsupported) has_containers_ = false;
  if (kind != Ask::sync || reply.code == Code::ok) return call;
  // Its list comes right behind it, and may be out of date. A server that serves only users ends
  // the session: its error is known then.
  const auto behind = calls_.find(number + 1);
  if (behind != calls_.end() && behind->second.is_in_sync) {
    const Code code = reply.code == Code::no_user ? Code::unknown : Code::not_done;
    behind->second.refusal = Reply{.code = code, .number = reply.number};
  }
  return call;
}

void Calls::drain(Code code) {
  left_ = added_;
  under_way_ = 0;
  silent_since_ = never;
  base::OneByOne each_of;  // a call without an answer would wait for ever
  while (!calls_.empty()) {
    const Call call = std::move(calls_.begin()->second);
    calls_.erase(calls_.begin());
    each_of([&] { call.tell({.code = code}); });
  }
  each_of.finish();
}

}  // namespace mortise::zookeeper
