// SPDX-License-Identifier: MIT
#include "zookeeper/session.hpp"

#include "base/one_by_one.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <optional>
#include <utility>

namespace mortise::zookeeper {

void Session::run(short events, Instant now) {
  process(events, now);
  if (!up() || now >= next()) tick(now);
}

void Session::tick(Instant now) {
  // If the program stood still, there may be answers that no thread has read yet, the one to the
  // greeting included.
  const bool is_late =
      course().state() == ConnectCourse::State::connecting && now >= course().limit();
  if (up() || is_late) process(POLLIN, now);
  if (up() && now >= calls_.silent_for(patience())) {
    break_off(ETIMEDOUT);
    process(0, now);
  }
  step(now);
}

Instant Session::next() const noexcept {
  return std::min(next_step(), calls_.silent_for(patience()));
}

bool Session::publish() noexcept {
  if (up() && !calls_.empty()) send();
  if (handle() != nullptr) handle()->flush();
  if (!calls_.empty()) calls_.flushed(clock_->now());
  const auto [descriptor, interest] = polled();
  const bool is_outstanding =
      up() ? load.awaiting > 0 || !calls_.empty() || handle()->wire().awaits_pong()
           : course().state() != ConnectCourse::State::idle;
  return show(descriptor, interest, next(), is_outstanding);
}

void Session::send() {
  try {
    calls_.let_leave(clock_->now(), life_.known(),
                     [this](const Request& request, std::uint64_t number) {
                       return handle()->send(request, number);
                     });
  } catch (const std::exception&) {
    break_off(ENOMEM);  // the request counts as lost with its connection
  }
}

bool Session::ask(Request request, Calls::Answer answer) {
  if (up()) calls_.add(std::move(request), std::move(answer));
  return up();
}

bool Session::ask_in_sync(Request request, Calls::Answer answer) {
  if (!up()) return false;
  calls_.add({Ask::sync, request.path}, {});
  calls_.add(std::move(request), std::move(answer), true);
  return true;
}

void Session::unwatch(const std::string& path, const Watcher& watcher) {
  if (up() && watches_.remove(path, watcher)) ask({Ask::unwatch, path}, {});
}

bool Session::has_room(const Paths& more) const noexcept {
  return load.paths.owned + more.owned <= settings_.most_owned &&
         std::max(load.paths.watched, watches_.bytes()) + more.watched <= settings_.most_watched;
}

void Session::replied(std::uint64_t number, const Reply& reply) {
  const std::optional<Calls::Call> call = calls_.take(number, reply);
  if (!call) return;
  if (is_answer(reply.code) && reply.code != Code::no_user) prove(*call, reply);
  call->tell(reply);
}

void Session::prove(const Calls::Call& call, const Reply& reply) {
  const Instant now = clock_->now();
  calls_.heard(now);
  course().answered();
  const bool is_write = call.request.is_write();
  switch (reply.code) {
    // What else is answered to a write may be the own server's word alone.
    case Code::ok:
    case Code::no_node:
    case Code::exists:
    case Code::not_empty:
    case Code::other_version:
      if (is_write || call.request.kind == Ask::sync) life_.passed(call.asked);
      if (is_write) life_.committed(call.known, call.asked, now);
      if (is_write && reply.mtime != 0) leaders_clock_.wrote(reply.mtime, call.asked, now);
      break;
    default: break;
  }
  life_.answered(call.asked, now);
}

void Session::watched(std::string_view path, bool gone) {
  for (const auto& watcher : watches_.take(path)) watcher->watched(path, gone);
}

void Session::came_up() {
  // A ping each half tick, and what it takes. A session has two ticks at least.
  life_.set_report(std::min<std::chrono::nanoseconds>(settings_.margin / 10 * 11, timeout() / 4));
  life_.connected(course().asked());
  owner_.session_up(*this);
}

void Session::went_down() {
  life_.disconnected();
  base::OneByOne each_of;  // without memory the owner has to know it as well
  each_of([&] { calls_.drain(Code::unknown); });
  each_of([&] { owner_.session_down(*this); });
  each_of.finish();
}

void Session::ended(const Failure& why, bool at_server) {
  // The next one may be at servers that know nothing of what this one has learned.
  life_.over();
  leaders_clock_.forget();
  calls_.forget_servers();
  base::OneByOne each_of;  // as above
  each_of([&] { calls_.drain(Code::ended); });
  watches_.clear();
  each_of([&] { owner_.session_over(*this, why, at_server); });
  each_of.finish();
}

}  // namespace mortise::zookeeper
