// SPDX-License-Identifier: MIT
// What every call does that asks the store a question and waits for the answer: who holds a name,
// what is remembered of a key, whether the store works. Calls that take and free locks have more to
// decide, and files of their own.
#pragma once

#include <mortise/error.hpp>

#include "core/figures.hpp"
#include "runtime/engine/open_requests.hpp"

#include <functional>

namespace mortise {
class Backend;
class Operation;
}  // namespace mortise

namespace mortise::runtime {

class ClientState;
class StoreAccess;

/// One request to the store for an answer. It is over when this object ends: a copy that has not
/// left by then is not sent. Its calls throw `std::bad_alloc` only.
class Question {
 public:
  /// @param asked outlives it
  /// @param late what it means that no answer came in time
  Question(StoreAccess& store, Operation& asked, Errc late) noexcept;
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;
  ~Question();

  /// @param to hands the request to the backend
  /// @return why that was not possible; `exhausted` if the machine has no thread or descriptor left
  Failure send(const std::function<void(Backend&)>& to);
  /// @param at_most in real time
  /// @return why there is no answer
  Failure wait(core::Nanos at_most);

 private:
  StoreAccess& store_;
  const OpenRequest open_request_;
  const Errc late_;
};

/// Sends a question, and waits for the answer: see `Question`.
Failure ask(ClientState& client, Operation& asked, core::Nanos wait, Errc late,
            const std::function<void(Backend&)>& send);

}  // namespace mortise::runtime
