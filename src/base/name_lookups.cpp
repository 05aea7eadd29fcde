// SPDX-License-Identifier: MIT
// The threads are detached, because nobody can end a getaddrinfo(). They share nothing with those
// who ask but the table of lookups, under its mutex.
#include "base/name_lookups.hpp"

#include "base/error_words.hpp"
#include "base/quiet_thread.hpp"
#include "base/system_error.hpp"

#include <netdb.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <system_error>
#include <utility>

namespace mortise::base {
namespace {

// Name servers answer in milliseconds, or not at all.
constexpr std::chrono::seconds slow_from{1};
// More than a process has servers; where there are more names, they count as quick again.
constexpr std::size_t most_slow_names = 64;

std::string words_of(int code, int error) {
  std::string why =
      code == EAI_SYSTEM ? std::generic_category().message(error) : gai_strerror(code);
  return "the name cannot be resolved: " + why;
}

Errc meaning_of(int code, int error) noexcept {
  if (code == EAI_MEMORY) return Errc::exhausted;
  return code == EAI_SYSTEM ? errc_of(error) : Errc::unavailable;
}

// @return the code of getaddrinfo()
int get_addresses(const std::string& host, int flags, Resolution& found) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* list = nullptr;
  const int code = ::getaddrinfo(host.c_str(), nullptr, &hints, &list);
  if (code != 0) {
    const int error = errno;
    found.error = words_of(code, error);
    found.code = meaning_of(code, error);
    return code;
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, &::freeaddrinfo);
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
    if (each->ai_addrlen > sizeof(sockaddr_storage)) continue;
    Endpoint& endpoint = found.endpoints.emplace_back();
    std::memcpy(&endpoint.address, each->ai_addr, each->ai_addrlen);
    endpoint.length = each->ai_addrlen;
  }
  return 0;
}

Resolution look_up_name(const std::string& host) {
  Resolution found;
  // Spares hosts without IPv6 the questions for it. It does not count loopback addresses, so on a
  // host with, say, IPv6 only it would hide 127.0.0.1.
  get_addresses(host, NameLookups::is_localhost(host) ? 0 : AI_ADDRCONFIG, found);
  return found;
}

}  // namespace

std::shared_ptr<NameLookups> NameLookups::make(LookUp look_up) {
  return std::shared_ptr<NameLookups>(new NameLookups(std::move(look_up)));
}

// Never destroyed, because its threads may run while the program ends. In a forked child the mutex
// of the parent's instance may be held by a thread that does not exist there.
std::shared_ptr<NameLookups> NameLookups::of_process() {
  struct Instance {
    std::uint32_t generation;
    std::shared_ptr<NameLookups> lookups;
    const Instance* before;
  };
  static constinit std::atomic<const Instance*> instance{nullptr};
  const Instance* known = instance.load();
  const std::uint32_t generation = fork_generation();
  if (known != nullptr && known->generation == generation) return known->lookups;
  auto made = std::make_unique<const Instance>(Instance{generation, make(&look_up_name), known});
  if (instance.compare_exchange_strong(known, made.get())) return made.release()->lookups;
  return known->lookups;
}

bool NameLookups::is_localhost(const std::string& host) noexcept {
  return host == "localhost" || host.ends_with(".localhost");
}

std::optional<Resolution> NameLookups::read_number(const std::string& host) {
  Resolution found;
  // Any other error is final as well.
  if (get_addresses(host, AI_NUMERICHOST, found) == EAI_NONAME) return std::nullopt;
  return found;
}

NameLookups::Lookups::iterator NameLookups::next_locked() noexcept {
  return std::find_if(lookups_.begin(), lookups_.end(), [&](const Lookup& each) {
    return each.state == Lookup::State::waits && (!each.slow || slow_running_ < most_slow);
  });
}

// Old answers go, whoever asks for what.
bool NameLookups::answer_late(const std::string& host, NameQuestion& asker) noexcept {
  const Instant now = BootClock::now();
  for (auto each = lookups_.begin(); each != lookups_.end();) {
    const auto it = each++;
    if (it->state != Lookup::State::is_over) continue;
    const bool old = now - it->over_at > late_for;
    if (!old && it->host != host) continue;
    if (!old) answer_locked(asker, it->found);
    lookups_.erase(it);
    if (!old) return true;
  }
  return false;
}

void NameLookups::ask(const std::string& host, NameQuestion& asker) {
  if (answer_late(host, asker)) return;
  const auto same = std::find_if(lookups_.begin(), lookups_.end(),
                                 [&](const Lookup& each) { return each.host == host; });
  if (same != lookups_.end()) {
    same->askers.push_back(&asker);
    return;
  }
  const auto mine = lookups_.emplace(lookups_.end());
  try {
    mine->host = host;
    mine->slow = slow_names_.contains(host);
    mine->askers.push_back(&asker);
    if (threads_ < most_threads && next_locked() != lookups_.end()) {
      detached_thread([self = shared_from_this()] { self->run(); });
      ++threads_;
    }
  } catch (const std::exception& error) {
    const auto* const typed = dynamic_cast<const Error*>(&error);
    lookups_.erase(mine);
    Resolution none;
    none.error = typed != nullptr ? words_of(*typed) : "no memory for the name lookup";
    none.code = Errc::exhausted;
    answer_locked(asker, none);
  }
}

void NameLookups::withdraw(NameQuestion& asker) noexcept {
  for (auto each = lookups_.begin(); each != lookups_.end(); ++each) {
    if (std::erase(each->askers, &asker) == 0) continue;
    const bool waits = each->state == Lookup::State::waits;
    if (each->askers.empty() && waits) lookups_.erase(each);
    return;
  }
}

void NameLookups::run() noexcept {
  std::unique_lock lock(mutex_);
  for (auto mine = next_locked(); mine != lookups_.end(); mine = next_locked()) {
    mine->state = Lookup::State::runs;
    if (mine->slow) ++slow_running_;
    lock.unlock();
    const Instant begin = BootClock::now();
    Resolution found = look_up(mine->host);
    const bool slow = BootClock::now() - begin >= slow_from;
    lock.lock();
    if (mine->slow) --slow_running_;
    note_speed_locked(mine->host, slow);
    finish_locked(mine, std::move(found));
  }
  --threads_;
}

void NameLookups::finish_locked(Lookups::iterator mine, Resolution found) noexcept {
  if (mine->askers.empty()) {
    mine->state = Lookup::State::is_over;
    mine->found = std::move(found);
    mine->over_at = BootClock::now();
    return;
  }
  for (NameQuestion* const asker : mine->askers) answer_locked(*asker, found);
  lookups_.erase(mine);
}

Resolution NameLookups::look_up(const std::string& host) const noexcept {
  try {
    return look_up_(host);
  } catch (const std::exception&) {
    return {.endpoints = {}, .error = "no memory", .code = Errc::exhausted};  // needs none itself
  }
}

void NameLookups::note_speed_locked(const std::string& host, bool slow) noexcept {
  if (!slow) {
    slow_names_.erase(host);
    return;
  }
  try {
    if (slow_names_.size() >= most_slow_names) slow_names_.clear();
    slow_names_.insert(host);
  } catch (const std::exception&) {
    // It counts as quick.
  }
}

void NameLookups::answer_locked(NameQuestion& asker, const Resolution& found) noexcept {
  try {
    asker.answer_ = found;
  } catch (const std::exception&) {
    asker.answer_ = Resolution{.endpoints = {}, .error = "no memory", .code = Errc::exhausted};
  }
  asker.awaits_ = false;
  if (asker.answered_ >= 0) static_cast<void>(::eventfd_write(asker.answered_, 1));
}

void NameQuestion::ask(const std::string& host, int answered) {
  withdraw();
  asked_ = true;
  const std::lock_guard lock(lookups_->mutex_);
  host_ = host;
  answered_ = answered;
  awaits_ = true;
  try {
    lookups_->ask(host, *this);
  } catch (const std::exception&) {
    awaits_ = false;
    throw;
  }
}

bool NameQuestion::awaits(const std::string& host) const {
  if (!asked_) return false;
  const std::lock_guard lock(lookups_->mutex_);
  return awaits_ && host_ == host;
}

std::optional<Resolution> NameQuestion::take() {
  if (!asked_) return std::nullopt;
  const std::lock_guard lock(lookups_->mutex_);
  return std::exchange(answer_, std::nullopt);
}

void NameQuestion::withdraw() noexcept {
  if (!std::exchange(asked_, false) || lookups_->generation_ != fork_generation()) return;
  const std::lock_guard lock(lookups_->mutex_);
  if (std::exchange(awaits_, false)) lookups_->withdraw(*this);
  answer_.reset();
  answered_ = -1;
}

}  // namespace mortise::base
