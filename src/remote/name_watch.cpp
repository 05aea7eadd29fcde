// SPDX-License-Identifier: MIT
// Nobody is in a hurry for the answer: it is fetched some time after the question, so that no
// descriptor has to be polled for it.
#include "remote/name_watch.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace mortise::remote {
namespace {

// More than a pool has connections that last.
constexpr std::size_t most_addresses = 64;

}  // namespace

NameWatch::NameWatch(Host& host, std::string where, Moved moved,
                     std::shared_ptr<base::NameLookups> lookups)
    : host_(host),
      where_(std::move(where)),
      moved_(std::move(moved)),
      question_(std::move(lookups)) {}

bool NameWatch::is_for(const std::string& host) {
  return !host.empty() && !base::NameLookups::is_localhost(host) &&
         !base::NameLookups::read_number(host);
}

std::chrono::nanoseconds NameWatch::pause() noexcept {
  const double part = 1 + random_.unit() / 4;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(part * interval);
}

void NameWatch::begin(const std::string& host, const base::Endpoint& endpoint) {
  const bool is_watched = is_for(host);
  bool sooner = false;
  {
    const std::lock_guard lock(mutex_);
    if (name_ != host || !is_watched) {
      question_.withdraw();
      asks_ = false;
      due_.set(never);
      watched_.clear();
      name_ = host;
    }
    if (is_watched) {
      Watched& watched = watched_locked(endpoint.text());
      watched.judge.connected(watched.address);
      watched.port = endpoint.port();
      watched.is_connected = true;
      // Otherwise connections that come one after the other would put the question off.
      if (due_.get() == never) sooner = due_.set(host_.clock()->now() + pause());
    }
  }
  if (sooner) host_.changed(*this);
}

NameWatch::Watched& NameWatch::watched_locked(const std::string& address) {
  const auto found = std::find_if(watched_.begin(), watched_.end(),
                                  [&](const Watched& each) { return each.address == address; });
  if (found != watched_.end()) return *found;
  // What is known of the name's rotation holds for this address as well.
  Watched made;
  if (!watched_.empty()) made.judge = watched_.back().judge;
  made.address = address;
  if (watched_.size() >= most_addresses) watched_.erase(watched_.begin());
  return watched_.emplace_back(std::move(made));
}

void NameWatch::end() noexcept {
  const std::lock_guard lock(mutex_);
  question_.withdraw();
  asks_ = false;
  for (Watched& each : watched_) each.is_connected = false;
  due_.set(never);
}

void NameWatch::ready(short /*events*/, Instant now) {
  Failure why;
  if (look(now, why)) moved_(why);
}

// @return whether the name has moved
bool NameWatch::look(Instant now, Failure& why) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || due_.get() > now) return false;
  // First: what fails for want of memory is done again.
  due_.set(now + (asks_ ? pause() : std::chrono::nanoseconds(answered_in)));
  if (!asks_) {
    asks_ = true;
    question_.ask(name_, -1);
    return false;
  }
  asks_ = false;
  const std::optional<base::Resolution> found = question_.take();
  question_.withdraw();
  if (!found) return false;
  bool moved = false;
  for (Watched& each : watched_) moved = has_moved(each, *found, why) || moved;
  return moved;
}

bool NameWatch::has_moved(Watched& watched, const base::Resolution& found, Failure& why) const {
  if (!watched.is_connected) return false;
  std::vector<std::string> addresses;
  for (base::Endpoint each : found.endpoints) {
    each.set_port(watched.port);
    addresses.push_back(each.text());
  }
  if (!watched.judge.answered(std::move(addresses))) return false;
  why = {Errc::unavailable, where_ + ": the host name now leads to " +
                                watched.judge.elsewhere().front() + "; closing the connection to " +
                                watched.address};
  watched.is_connected = false;
  return true;
}

}  // namespace mortise::remote
