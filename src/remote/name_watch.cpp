// SPDX-License-Identifier: MIT
// Nobody is in a hurry for the answer: it is fetched some time after the question, so that no
// descriptor has to be polled for it.
#include "remote/name_watch.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace mortise::remote {
namespace {

// Name servers take less. An answer that comes later is as good as none.
constexpr std::chrono::seconds answered_in{2};

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
  const bool watched = is_for(host);
  bool sooner = false;
  {
    const std::lock_guard lock(mutex_);
    question_.withdraw();
    asks_ = false;
    name_ = watched ? host : std::string();
    connected_ = endpoint.text();
    port_ = endpoint.port();
    judge_.connected(connected_);
    sooner = due_.set(watched ? host_.clock()->now() + pause() : never);
  }
  if (sooner) host_.changed(*this);
}

void NameWatch::end() noexcept {
  const std::lock_guard lock(mutex_);
  question_.withdraw();
  asks_ = false;
  name_.clear();
  due_.set(never);
}

void NameWatch::ready(short /*events*/, Instant now) {
  Failure why;
  if (look(now, why)) moved_(why);
}

// @return whether the name has moved
bool NameWatch::look(Instant now, Failure& why) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || name_.empty() || due_.get() > now) return false;
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
  std::vector<std::string> addresses;
  for (base::Endpoint each : found->endpoints) {
    each.set_port(port_);
    addresses.push_back(each.text());
  }
  if (!judge_.answered(std::move(addresses))) return false;
  why = {Errc::unavailable, where_ + ": the name leads to " + judge_.elsewhere().front() +
                                " now; the connection to " + connected_ + " is closed"};
  return true;
}

}  // namespace mortise::remote
