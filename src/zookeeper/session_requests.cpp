// SPDX-License-Identifier: MIT
// The requests of a session, and the watchers of a path: the other half of Session.
#include "core/figures.hpp"
#include "zookeeper/session.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace mortise::zookeeper {
namespace {

// For how long the leader's clock is known from one word of it. It may be stepped meanwhile.
constexpr std::chrono::minutes time_of_a_time{10};

}  // namespace

template <class Send>
bool Session::request(Kind kind, Answer answer, Send send) {
  if (!up()) return false;
  const std::uint64_t number = next_call_++;
  calls_.emplace_hint(calls_.end(), number,
                      Pending{.answer = std::move(answer),
                              .asked = clock_->now(),
                              .kind = kind,
                              .known = life_.known()});
  try {
    if (send(number)) return true;
  } catch (const std::exception&) {
    calls_.erase(number);  // its answer is not counted
    throw;
  }
  calls_.erase(number);
  return false;
}

bool Session::create(const std::string& prefix, std::string_view data, Answer answer) {
  return request(Kind::write, std::move(answer), [&](std::uint64_t number) {
    return handle_->create_ephemeral(prefix, data, number);
  });
}

bool Session::create_parent(const std::string& path, bool while_needed, std::string_view data,
                            Answer answer) {
  return request(Kind::write, std::move(answer), [&](std::uint64_t number) {
    return handle_->create_parent(path, while_needed && containers_, data, number);
  });
}

bool Session::remove(const std::string& path, Answer answer) {
  return request(Kind::write, std::move(answer),
                 [&](std::uint64_t number) { return handle_->remove(path, number); });
}

bool Session::list(const std::string& path, Answer answer, bool watch) {
  return request(Kind::read, std::move(answer),
                 [&](std::uint64_t number) { return handle_->list(path, watch, number); });
}

bool Session::get(const std::string& path, bool watch, Answer answer) {
  return request(Kind::read, std::move(answer),
                 [&](std::uint64_t number) { return handle_->get(path, watch, number); });
}

bool Session::exists(const std::string& path, Answer answer) {
  return request(Kind::read, std::move(answer),
                 [&](std::uint64_t number) { return handle_->exists(path, number); });
}

// The two have numbers that follow each other: a list behind a sync that was refused is as old as
// the server pleases.
bool Session::list_in_sync(const std::string& path, Answer answer) {
  if (!sync(path, {}) || !list(path, std::move(answer))) return false;
  calls_.rbegin()->second.in_sync = true;
  return true;
}

bool Session::get_in_sync(const std::string& path, Answer answer) {
  if (!sync(path, {}) || !get(path, false, std::move(answer))) return false;
  calls_.rbegin()->second.in_sync = true;
  return true;
}

bool Session::sync(const std::string& path, Answer answer) {
  return request(Kind::sync, std::move(answer),
                 [&](std::uint64_t number) { return handle_->sync(path, number); });
}

bool Session::set(const std::string& path, std::string_view data, Answer answer) {
  return request(Kind::write, std::move(answer),
                 [&](std::uint64_t number) { return handle_->set(path, data, number); });
}

bool Session::write(std::vector<Write> writes, Answer answer) {
  return request(Kind::write, std::move(answer),
                 [&](std::uint64_t number) { return handle_->write(std::move(writes), number); });
}

bool Session::refused_write(const std::string& path, Answer answer) {
  return request(Kind::write, std::move(answer),
                 [&](std::uint64_t number) { return handle_->refused_write(path, number); });
}

LeadersTime Session::leaders_time(Instant now) const noexcept {
  if (leader_wrote_ == 0) return {};
  // Ours may be faster, or slower.
  const auto passed = [now](Instant from, int permille) {
    return std::chrono::duration_cast<std::chrono::milliseconds>((now - from) / 1'000 * permille)
        .count();
  };
  return {.least = leader_wrote_ + passed(leader_told_, 1'000 - core::drift_permille),
          .most = leader_wrote_ + 1 + passed(leader_asked_, 1'000 + core::drift_permille) + 1};
}

bool Session::is_leaders_time_old(Instant now) const noexcept {
  return leader_wrote_ == 0 || now - leader_told_ > time_of_a_time;
}

void Session::drain_calls(Code code) {
  silence_.end();
  while (!calls_.empty()) {
    const auto first = calls_.begin();
    const Pending pending = std::move(first->second);
    calls_.erase(first);
    if (pending.answer) pending.answer({.code = code});
  }
}

void Session::replied(std::uint64_t number, const Reply& reply) {
  const auto found = calls_.find(number);
  if (found == calls_.end()) return;
  const Pending pending = std::move(found->second);
  calls_.erase(found);
  if (calls_.empty()) silence_.end();  // also if the reply is that it was not executed
  if (reply.code == Code::no_user) news_ = News::no_user;
  count(pending, reply);
  // Its list came right behind it. Unless the list is lost as well, it may be out of date.
  const auto list = calls_.find(number + 1);
  const bool is_refused = pending.kind == Kind::sync && reply.code != Code::ok;
  if (is_refused && list != calls_.end() && list->second.in_sync) {
    list->second.sync_failed = reply.number;
  }
  if (pending.sync_failed != 0 && !is_lost(reply.code)) {
    // A server that serves only users ends the session: its error is known then.
    const Code code = news_ == News::no_user ? Code::unknown : Code::not_done;
    const Reply refused{.code = code, .number = pending.sync_failed};
    if (pending.answer) pending.answer(refused);
    return;
  }
  if (pending.answer) pending.answer(reply);
}

void Session::count(const Pending& pending, const Reply& reply) {
  switch (reply.code) {
    case Code::unknown:
    case Code::ended:
    case Code::no_user:
    case Code::not_done: return;
    default: break;
  }
  const Instant now = clock_->now();
  silence_.heard(now, !calls_.empty());
  failures_ = 0;
  switch (reply.code) {
    // What else is answered to a write may be the own server's word alone.
    case Code::ok:
    case Code::no_node:
    case Code::exists:
    case Code::not_empty:
    case Code::other_version:
      if (pending.kind != Kind::read) life_.passed(pending.asked);
      if (pending.kind == Kind::write) life_.committed(pending.known, pending.asked, now);
      if (pending.kind == Kind::write && reply.mtime != 0) {
        leader_wrote_ = reply.mtime;
        leader_asked_ = pending.asked;
        leader_told_ = now;
      }
      break;
    default: break;
  }
  life_.answered(pending.asked, now);
}

void Session::unwatch(const std::string& path, const Watcher& watcher) {
  if (!up() || !watches_.remove(path, watcher)) return;
  static_cast<void>(request(Kind::read, {},
                            [&](std::uint64_t number) { return handle_->unwatch(path, number); }));
}

bool Session::has_room(const Paths& more) const noexcept {
  return paths.owned + more.owned <= settings_.most_owned &&
         std::max(paths.watched, watches_.bytes()) + more.watched <= settings_.most_watched;
}

}  // namespace mortise::zookeeper
