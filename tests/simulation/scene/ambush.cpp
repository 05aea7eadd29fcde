// SPDX-License-Identifier: MIT
#include "simulation/scene/ambush.hpp"

#include <algorithm>
#include <array>

namespace simulation {
namespace {

constexpr std::array<std::string_view, Ambush::kinds> names{
    "answers are late",           "answers are lost",
    "answers are spoilt",         "requests come later",
    "messages to others stall",   "those who ask are stopped",
    "threads of requesters stop", "connections break when used",
    "connections break later",    "requests are refused"};

// Threads stop anywhere for so long: what was asked for is answered, and something new is asked.
constexpr Nanos thread_stop = 50ms;
// Longer than it takes to connect anew.
constexpr Nanos a_stop = 5ms;
constexpr int breaks = 6;

constexpr std::uint64_t most_victims = 10;

}  // namespace

std::string Ambush::lie(What what, Random& random, Nanos length) {
  Trouble trouble{.what = what, .until = room_.world.now() + length};
  constexpr std::array<double, 4> of_any{0.005, 0.03, 0.1, 0.5};
  constexpr std::array<double, 4> of_one_kind{0.03, 0.1, 0.5, 1.0};
  const std::size_t drawn = random.below(4);
  if (!words_.empty() && random.chance(0.5)) {
    trouble.word = words_[random.below(words_.size())];
    trouble.often = of_one_kind.at(drawn);
  } else {
    trouble.often = of_any.at(drawn);
  }
  trouble.left = 1 + random.below(most_victims);
  luck_ = Random(random.next());
  troubles_.push_back(trouble);
  return "now and then " + std::string(names.at(static_cast<std::size_t>(what)));
}

Ambush::Trouble* Ambush::trouble_of(std::string_view bytes, Nanos now) {
  std::erase_if(troubles_, [now](const Trouble& trouble) {
    return trouble.until <= now || trouble.left == 0;
  });
  for (Trouble& trouble : troubles_) {
    if (!trouble.word.empty() && bytes.find(trouble.word) == std::string_view::npos) continue;
    if (luck_.chance(trouble.often)) return &trouble;
  }
  return nullptr;
}

void Ambush::received(ConnectionId connection, std::string_view bytes) {
  if (!kept_.empty()) {
    if (const auto kept = kept_.find(connection); kept != kept_.end()) {
      kept->second.requests.emplace_back(bytes);  // not before what came before it
      return;
    }
  }
  if (troubles_.empty()) return server_.received(connection, bytes);
  const Nanos now = room_.world.now();
  if (now < aftermath_.until && connection != aftermath_.broken) {
    Connection* const next = room_.network.find(connection);
    if (next != nullptr && &next->process() == aftermath_.process) {
      next->stall(Connection::Way::down, now + luck_.spread(100us, 20ms));
    }
  }
  Trouble* const trouble = trouble_of(bytes, now);
  Connection* const from = trouble == nullptr ? nullptr : room_.network.find(connection);
  if (from == nullptr || !from->held()) return server_.received(connection, bytes);
  --trouble->left;
  const auto keeper = from->shared_from_this();
  befall(*trouble, *from, bytes, luck_.spread(100us, std::max<Nanos>(trouble->until - now, 200us)));
}

void Ambush::befall(const Trouble& trouble, Connection& from, std::string_view bytes, Nanos time) {
  World& world = room_.world;
  switch (trouble.what) {
    case What::late_copy:
      keep(from.id(), bytes, time);
      from.cut(true);
      return;
    case What::spoilt_answer: from.send_down("?\r\n"); break;
    case What::late_messages:
      if (Connection* const other = another(from, luck_.chance(0.7))) {
        other->stall(Connection::Way::down, world.now() + time);
      }
      break;
    case What::late_answer: from.stall(Connection::Way::down, world.now() + time); break;
    case What::stopped_requester: world.pause(from.process(), world.now() + time); break;
    case What::stopped_threads: stop_threads(from.process(), time); break;
    case What::broken_pipe:
      from.spring_trap();
      stop_threads(from.process(), luck_.chance(0.3) ? time : std::min<Nanos>(time, a_stop), 0.2);
      aftermath_ = {&from.process(), from.id(), world.now() + thread_stop};
      break;
    case What::broken_later:
      // Shortly, or nobody would connect again meanwhile.
      stop_threads(from.process(), a_stop, 0.03);
      for (int i = 0; i < breaks; ++i) {
        world.after(thread_stop / breaks * i + luck_.between(20us, thread_stop / breaks),
                    [this, &process = from.process()] { cut_newest(process); });
      }
      break;
    case What::refused:
      if (refuse) refuse(true);
      server_.received(from.id(), bytes);
      if (refuse) refuse(false);
      return;
    case What::lost_answer:
      server_.received(from.id(), bytes);
      from.cut(true);
      return;
  }
  server_.received(from.id(), bytes);
}

void Ambush::cut_newest(const Process& process) {
  const auto& all = room_.network.connections();
  const auto newest = std::find_if(all.rbegin(), all.rend(), [&](const auto& each) {
    return &each.second->process() == &process && each.second->held() &&
           &each.second->host() == &host_;
  });
  if (newest == all.rend()) return;
  const auto keeper = newest->second;
  keeper->cut(true);
}

void Ambush::stop_threads(Process& process, Nanos time, double often) {
  process.schedule.preempted = often;
  process.schedule.longest = time;
  room_.world.after(std::min(time, thread_stop), [&process] { process.schedule.preempted = 0; });
}

Connection* Ambush::another(const Connection& than, bool of_another_process) {
  std::vector<Connection*> all;
  for (const auto& [id, each] : room_.network.connections()) {
    if (each.get() != &than && each->held() && &each->host() == &host_ &&
        (&each->process() != &than.process()) == of_another_process) {
      all.push_back(each.get());
    }
  }
  return all.empty() ? nullptr : all[luck_.below(all.size())];
}

void Ambush::keep(ConnectionId connection, std::string_view bytes, Nanos time) {
  kept_[connection].requests.emplace_back(bytes);
  room_.world.after(time, [this, connection] { deliver(connection); });
}

void Ambush::deliver(ConnectionId connection) {
  const auto found = kept_.find(connection);
  if (found == kept_.end()) return;  // the server was started anew
  if (!host_.up()) {
    kept_.erase(found);
    return;
  }
  if (host_.paused_until() > room_.world.now()) {
    room_.world.at(host_.paused_until(), [this, connection] { deliver(connection); });
    return;
  }
  const Kept kept = std::move(found->second);
  kept_.erase(found);
  for (const std::string& bytes : kept.requests) server_.received(connection, bytes);
  if (kept.closed) server_.closed(connection);
}

void Ambush::closed(ConnectionId connection) {
  if (const auto kept = kept_.find(connection); kept != kept_.end()) {
    kept->second.closed = true;
    return;
  }
  server_.closed(connection);
}

void Ambush::restarted(bool keeps_data) {
  kept_.clear();
  server_.restarted(keeps_data);
}

}  // namespace simulation
