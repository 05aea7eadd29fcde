// SPDX-License-Identifier: MIT
#include "simulation/zookeeper/post.hpp"

#include <algorithm>
#include <utility>

namespace simulation::zookeeper {

Post::Post(std::vector<Site*> sites, const Options& options, Deliver deliver)
    : sites_(std::move(sites)),
      options_(options),
      deliver_(std::move(deliver)),
      pipes_(sites_.size() * sites_.size()),
      alone_(sites_.size()) {}

bool Post::is_cut(std::size_t from, std::size_t to) {
  return alone_[from] != 0 || alone_[to] != 0 || pipe(from, to).cut;
}

void Post::send(std::size_t from, std::size_t to, Message message) {
  message.from = from;
  // Votes are told again and again; all else goes by connections.
  const bool cut = is_cut(from, to);
  if (cut && message.kind == Message::Kind::vote) return;
  pipe(from, to).waiting.push_back(std::move(message));
  if (!cut) schedule(from, to);
}

Nanos Post::lag_of(std::size_t server) {
  Site& site = *sites_[server];
  const auto up_to = [&site](Nanos most) {
    return most > Nanos::zero() ? Nanos(static_cast<Nanos::rep>(
                                      site.random() % static_cast<std::uint64_t>(most.count())))
                                : Nanos::zero();
  };
  Nanos lag = options_.latency + up_to(options_.spread);
  if (options_.slow_one_in != 0 && site.random() % options_.slow_one_in == 0) {
    lag += up_to(options_.slow);
  }
  return lag;
}

void Post::schedule(std::size_t from, std::size_t to) {
  Site& site = *sites_[to];
  const Nanos delay = lag_of(to);
  const Nanos now = site.uptime();
  Pipe& way = pipe(from, to);
  way.last = std::max(way.last, now + delay);
  site.after(way.last - now, [this, from, to] { arrive(from, to); });
}

void Post::arrive(std::size_t from, std::size_t to) {
  Pipe& way = pipe(from, to);
  if (way.waiting.empty() || is_cut(from, to)) return;
  Message message = std::move(way.waiting.front());
  way.waiting.pop_front();
  deliver_(to, std::move(message));
}

void Post::cut_link(std::size_t one, std::size_t other, bool cut) {
  pipe(one, other).cut = pipe(other, one).cut = cut;
  mend();
}

void Post::cut(std::size_t server, bool cut) {
  alone_[server] = cut ? 1 : 0;
  mend();
}

// One call for each message that waits; of a pipe that was never cut, those that are too many find
// nothing.
void Post::mend() {
  for (std::size_t from = 0; from < size(); ++from) {
    for (std::size_t to = 0; to < size(); ++to) {
      Pipe& way = pipe(from, to);
      if (is_cut(from, to)) {
        std::erase_if(way.waiting,
                      [](const Message& each) { return each.kind == Message::Kind::vote; });
      } else {
        for (std::size_t i = 0; i < way.waiting.size(); ++i) schedule(from, to);
      }
    }
  }
}

void Post::forget(std::size_t server) {
  for (std::size_t from = 0; from < size(); ++from) {
    pipe(from, server).waiting.clear();
    pipe(from, server).last = Nanos::zero();
  }
}

}  // namespace simulation::zookeeper
