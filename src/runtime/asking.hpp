// SPDX-License-Identifier: MIT
// What every call does that asks the store a question and waits for the answer: who holds a name,
// what is remembered of a key, whether the store works. Calls that take and free locks have more to
// decide, and files of their own.
#pragma once

#include <mortise/error.hpp>

#include "core/figures.hpp"

#include <functional>

namespace mortise {
class Backend;
class Operation;
}  // namespace mortise

namespace mortise::runtime {

class ClientState;

/// Has the backend asked, and waits for the answer. The request is over when this returns: what has
/// not left by then is not sent. Of a forced release the hold of another client would be found
/// later.
/// @param wait in real time
/// @param late what it means that no answer came in time
/// @param send hands the request to the backend
/// @return why there is no answer; `exhausted` if the machine has no thread or descriptor left.
/// Throws `std::bad_alloc` only.
Failure ask(ClientState& client, Operation& asked, core::Nanos wait, Errc late,
            const std::function<void(Backend&)>& send);

}  // namespace mortise::runtime
