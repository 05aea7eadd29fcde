// SPDX-License-Identifier: MIT
#include "kit/call_writer.hpp"

#include "base/error_words.hpp"
#include "base/farewell.hpp"
#include "base/scratch.hpp"

#include <memory>

namespace mortise::kit {

using remote::Purpose;

remote::LineState CallWriter::state_of(const Connection& line) const noexcept {
  const remote::SentCalls<Call>& calls = line.pipeline().calls();
  const std::uint64_t generation = calls.generation();  // first, as in `send()`
  return {.connection = line.is_up() ? generation : 0, .has_room = calls.has_room()};
}

// First it wants the connection, because the reason needs memory.
Failure CallWriter::want(Connection& line, bool now) {
  line.want(now);
  return parts_.server.why_down.get();
}

bool CallWriter::send(Connection& line, Call& call) {
  call.left = {};
  // If it is sent, it may be answered and gone.
  const std::shared_ptr<Operation> operation = call.operation;
  const bool takes = call.why == Purpose::take;
  call.written.generation = line.pipeline().calls().generation();
  // Only now: a connection that comes up later has another generation, and its server another
  // clock.
  if (!line.is_up()) return false;
  // The lease counts from a moment before the request leaves.
  if (call.asked == Instant{}) call.asked = parts_.clock.now();
  const Instant asked = call.asked;
  base::Scratch<struct RequestBytes> scratch;
  call.written.void_time = remote::VoidTime::from(parts_.server.identity.time(), parts_.clock.now(),
                                                  line.pipeline().calls().time_for(call.patience));
  try {
    write(scratch.text(), call);
  } catch (const Error& error) {
    // The protocol refuses it, and will refuse it again. Nothing has left.
    parts_.exchange.refused(call, {error.errc(), base::words_of(error)}, true);
    return true;
  }
  const Pipeline::Sent sent = line.send(call, scratch.text());
  // After it was sent, so that a call that never left is not in doubt.
  if (takes && sent == Pipeline::Sent::sent) static_cast<Acquisition&>(*operation).sent(asked);
  return sent != Pipeline::Sent::refused;
}

void CallWriter::write(std::string& bytes, const Call& call) const {
  const remote::Protocol& protocol = parts_.protocol;
  switch (call.why) {
    case Purpose::take:
      return protocol.take(bytes, call.acquisition().request(), call.written.void_time.after);
    case Purpose::look:
    case Purpose::undo:
    case Purpose::cancel: return protocol.cancel(bytes, call.acquisition().request());
    case Purpose::release:
    case Purpose::give_back: return protocol.release(bytes, call.releasing().hold());
    case Purpose::renew: return protocol.renew(bytes, call.renewal().items());
    case Purpose::question:
    case Purpose::hint:
    case Purpose::route: break;
  }
  protocol.inspect(bytes,
                   call.is_check ? std::string(remote::probed_name) : call.inspection().name());
}

void CallWriter::note_lost(const Connection& /*line*/, Call& call) noexcept {
  if (call.left == Instant{}) return;
  const Instant now = parts_.clock.now();
  const std::uint64_t clock = parts_.server.identity.clock();
  if (call.why == Purpose::take) {
    const remote::VoidTime& void_time = call.written.void_time;
    parts_.attempts.request_lost(call.shared_acquisition(), void_time.lost(clock, now),
                                 void_time.look_at(call.left));
  } else if (remote::is_of_attempt(call.why)) {
    // A cancel takes nothing. But its answer may have named a hold.
    parts_.attempts.request_lost(call.shared_acquisition(), {{}, clock, now}, now);
  } else if (call.why == Purpose::release) {
    parts_.attempts.release_lost(call.releasing().hold(), now);
  }
}

// The next connection begins with what is wanted by then.
void CallWriter::break_lines() noexcept {
  parts_.connection.mark_broken();
  base::without_memory([&] { parts_.connection.want(false); });
}

}  // namespace mortise::kit
