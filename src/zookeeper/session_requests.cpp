// SPDX-License-Identifier: MIT
// What a session sends, and whom it tells of a path: the other half of Session.
#include "core/figures.hpp"
#include "zookeeper/session.hpp"

#include <algorithm>
#include <utility>

namespace mortise::zookeeper {
namespace {

// For how long the leader's clock is known from one word of it. It may be stepped meanwhile.
constexpr std::chrono::minutes time_of_a_time{10};

}  // namespace

std::uint64_t Session::note(Call call, Kind kind) {
  const std::uint64_t number = next_call_++;
  calls_.emplace_hint(
      calls_.end(), number,
      Pending{
          .call = std::move(call), .asked = clock_->now(), .kind = kind, .known = life_.known()});
  return number;
}

bool Session::sent(bool done, std::uint64_t number) {
  if (!done) calls_.erase(number);
  return done;
}

bool Session::create(const std::string& prefix, std::string_view data, Call call) {
  if (!up()) return false;
  const std::uint64_t number = note(std::move(call), Kind::write);
  return sent(handle_->create_ephemeral(prefix, data, number), number);
}

bool Session::create_parent(const std::string& path, bool while_needed, std::string_view data,
                            Call call) {
  if (!up()) return false;
  const std::uint64_t number = note(std::move(call), Kind::write);
  return sent(handle_->create_parent(path, while_needed && containers_, data, number), number);
}

bool Session::remove(const std::string& path, Call call) {
  if (!up()) return false;
  const std::uint64_t number = note(std::move(call), Kind::write);
  return sent(handle_->remove(path, number), number);
}

bool Session::list(const std::string& path, Call call, bool watch) {
  if (!up()) return false;
  const std::uint64_t number = note(std::move(call), Kind::read);
  return sent(handle_->list(path, watch, number), number);
}

bool Session::get(const std::string& path, bool watch, Call call) {
  if (!up()) return false;
  const std::uint64_t number = note(std::move(call), Kind::read);
  return sent(handle_->get(path, watch, number), number);
}

bool Session::exists(const std::string& path, Call call) {
  if (!up()) return false;
  const std::uint64_t number = note(std::move(call), Kind::read);
  return sent(handle_->exists(path, number), number);
}

bool Session::list_in_sync(const std::string& path, Call call) {
  if (!up()) return false;
  // The two have numbers that follow each other: a list behind a sync that was refused is as old as
  // the server pleases.
  if (!sync(path, Call{})) return false;
  const std::uint64_t number = note(std::move(call), Kind::read);
  calls_.at(number).in_sync = true;
  return sent(handle_->list(path, false, number), number);
}

bool Session::get_in_sync(const std::string& path, Call call) {
  if (!up() || !sync(path, Call{})) return false;
  const std::uint64_t number = note(std::move(call), Kind::read);
  calls_.at(number).in_sync = true;
  return sent(handle_->get(path, false, number), number);
}

bool Session::sync(const std::string& path, Call call) {
  if (!up()) return false;
  const std::uint64_t number = note(std::move(call), Kind::sync);
  return sent(handle_->sync(path, number), number);
}

bool Session::set(const std::string& path, std::string_view data, Call call) {
  if (!up()) return false;
  const std::uint64_t number = note(std::move(call), Kind::write);
  return sent(handle_->set(path, data, number), number);
}

bool Session::write(std::vector<Write> writes, Call call) {
  if (!up()) return false;
  const std::uint64_t number = note(std::move(call), Kind::write);
  return sent(handle_->write(std::move(writes), number), number);
}

bool Session::refused_write(const std::string& path, Call call) {
  if (!up()) return false;
  const std::uint64_t number = note(std::move(call), Kind::write);
  return sent(handle_->refused_write(path, number), number);
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
  while (!calls_.empty()) {
    const auto first = calls_.begin();
    const Pending pending = std::move(first->second);
    calls_.erase(first);
    owner_.replied(*this, pending.call, {.code = code});
  }
}

void Session::replied(std::uint64_t number, const Reply& reply) {
  const auto found = calls_.find(number);
  if (found == calls_.end()) return;
  const Pending pending = std::move(found->second);
  calls_.erase(found);
  if (reply.code == Code::no_user) news_ = News::no_user;
  count(pending, reply);
  // Its list came right behind it.
  if (const auto list = calls_.find(number + 1); pending.kind == Kind::sync &&
                                                 reply.code != Code::ok && list != calls_.end() &&
                                                 list->second.in_sync) {
    list->second.sync_failed = reply.number;
  }
  if (pending.sync_failed != 0) {
    const Reply refused{.code = Code::not_done, .number = pending.sync_failed};
    return owner_.replied(*this, pending.call, refused);
  }
  owner_.replied(*this, pending.call, reply);
}

void Session::count(const Pending& pending, const Reply& reply) {
  switch (reply.code) {
    case Code::unknown:
    case Code::ended:
    case Code::no_user:
    case Code::not_done: return;
    default: break;
  }
  of_use_ = true;
  failures_ = 0;
  const Instant now = clock_->now();
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

void Session::watch(const std::string& path, const std::shared_ptr<Contender>& contender) {
  const auto [found, fresh] = watches_.try_emplace(path);
  if (fresh) watched_bytes_ += path.size();
  std::erase_if(found->second, [](const auto& other) { return other.expired(); });
  found->second.push_back(contender);
}

std::vector<std::shared_ptr<Contender>> Session::unwatch(std::string_view path) {
  std::vector<std::shared_ptr<Contender>> contenders;
  const auto found = watches_.find(std::string(path));
  if (found == watches_.end()) return contenders;
  for (const auto& each : found->second) {
    if (std::shared_ptr<Contender> contender = each.lock()) {
      contenders.push_back(std::move(contender));
    }
  }
  watched_bytes_ -= found->first.size();
  watches_.erase(found);
  return contenders;
}

void Session::forget_watch(const std::string& path, const Contender& contender) {
  const auto found = watches_.find(path);
  if (found == watches_.end()) return;
  std::erase_if(found->second, [&](const auto& each) {
    const std::shared_ptr<Contender> other = each.lock();
    return !other || other.get() == &contender;
  });
  if (!found->second.empty()) return;
  watched_bytes_ -= found->first.size();
  watches_.erase(found);
}

void Session::unwatch(const std::string& path, const Contender& contender) {
  if (!watches_.contains(path) || !up()) return;
  forget_watch(path, contender);
  if (watches_.contains(path)) return;
  const std::uint64_t number = note(Call{}, Kind::read);
  static_cast<void>(sent(handle_->unwatch(path, number), number));
}

void Session::forget_watches() noexcept {
  watches_.clear();
  watched_bytes_ = 0;
}

bool Session::has_room(const Paths& more) const noexcept {
  return paths.owned + more.owned <= settings_.most_owned &&
         std::max(paths.watched, watched_bytes_) + more.watched <= settings_.most_watched;
}

}  // namespace mortise::zookeeper
