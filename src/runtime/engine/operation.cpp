// SPDX-License-Identifier: MIT
// Completion of requests: who may write a result, and how it reaches a sleeping caller.
#include <mortise/operation.hpp>

#include "base/futex.hpp"
#include "base/printable.hpp"

#include <unistd.h>

#include <utility>

namespace mortise {
namespace {

/// What a backend says passes here on its way to callers and observers. A backend may append bytes
/// of a server to a failure, and a label is whatever another client has written. Without memory the
/// words are lost, and not the completion: it has begun, so no other thread would complete it.
Failure printable(Failure why) noexcept {
  base::make_printable(why.text);
  return why;
}

std::optional<Holder> printable(std::optional<Holder> holder) noexcept {
  if (holder) base::make_printable(holder->label);
  return holder;
}

}  // namespace

std::string AttemptId::text() const {
  // Part of every request, so not by printf, which takes five times as long.
  constexpr const char* digits = "0123456789abcdef";
  std::string text(48, '0');
  char* out = text.data();
  for (const std::uint64_t part : {client_high, client_low, sequence}) {
    for (int shift = 60; shift >= 0; shift -= 4) *out++ = digits[(part >> shift) & 0xfU];
  }
  return text;
}

Waker::~Waker() = default;
Operation::~Operation() = default;

void Operation::sleep(std::uint32_t seen, std::chrono::nanoseconds at_most) const noexcept {
  // Before the kernel compares: whoever changes the signal after that sees the mark.
  base::futex_wait(word(), seen, at_most);
}

void Operation::wake() noexcept {
  if (slept_on_.load()) base::futex_wake(signal_, 1 << 30);
  const int eventfd = nudge_.load();
  const std::uint64_t one = 1;
  // A full counter (EAGAIN) is a wake-up that nobody has read yet: as good as ours.
  if (eventfd >= 0) static_cast<void>(::write(eventfd, &one, sizeof one) < 0);
  if (!has_waker_.load()) return;
  std::shared_ptr<Waker> waker;
  {
    const std::lock_guard hold(mutex_);
    waker = waker_.lock();
  }
  if (waker) waker->wake();
}

void Operation::wake_through(std::weak_ptr<Waker> waker) noexcept {
  if (waker.expired() && !has_waker_.load()) return;
  {
    const std::lock_guard hold(mutex_);
    waker_.swap(waker);
  }
  has_waker_.store(true);
}

void Operation::poke() noexcept {
  signal_.fetch_add(2);  // bit 0 is `done_bit`
  wake();
}

void Operation::finish() noexcept {
  // Whoever sleeps may destroy its reference as soon as it sees the bit.
  std::shared_ptr<Operation> keep;
  try {
    keep = shared_from_this();  // half the price of weak_from_this().lock()
  } catch (const std::bad_weak_ptr&) {
    // Nobody shares it: whoever has it must wait until this has returned.
  }
  signal_.fetch_or(done_bit);
  wake();
  finished();
}

void Operation::trouble(Failure why) {
  if (!why && !in_trouble_.load()) return;
  bool news = false;
  {
    const std::lock_guard hold(mutex_);
    news = static_cast<bool>(why) != trouble_.has_value();
    trouble_ = why ? std::optional(printable(std::move(why))) : std::nullopt;
    in_trouble_.store(trouble_.has_value());
  }
  // The caller counts how long the trouble lasts.
  if (news) poke();
}

std::optional<Failure> Operation::trouble() const {
  const std::lock_guard hold(mutex_);
  return trouble_;
}

void Operation::failed(Failure why) {
  if (!begin_completion()) return;
  failure_ = printable(std::move(why));
  finish();
}

Instant Acquisition::sent(Instant now) noexcept {
  // The first send counts, whichever copy of the request the server executes.
  Instant::rep expected = 0;
  const Instant::rep mine = now.time_since_epoch().count();
  // The answer to the first request may have overtaken the note of its sender.
  if (!first_sent_.compare_exchange_strong(expected, mine)) queued_.store(false);
  Progress unsent = Progress::unsent;
  progress_.compare_exchange_strong(unsent, Progress::sent);
  return Instant(Instant::duration(expected == 0 ? mine : expected));
}

void Acquisition::queued(std::optional<Holder> holder) {
  {
    const std::lock_guard hold(holder_mutex_);
    holder_ = printable(std::move(holder));
  }
  progress_.store(Progress::queued);
  queued_.store(true);
  trouble(Failure{});
}

std::optional<Holder> Acquisition::holder() const {
  const std::lock_guard hold(holder_mutex_);
  return holder_;
}

void Acquisition::granted(const Grant& grant) {
  if (!begin_completion()) return;
  grant_ = grant;
  finish();
}

void Acquisition::recorded(std::shared_ptr<const Record> record) {
  if (!begin_completion()) return;
  record_ = std::move(record);
  finish();
}

void Acquisition::busy(std::optional<Holder> holder) {
  if (!begin_completion()) return;
  queued(std::move(holder));
  finish();
}

void Renewal::answered() {
  if (begin_completion()) finish();
}

std::shared_ptr<Release> Release::undo(HoldId hold) {
  auto release = std::make_shared<Release>(std::move(hold));
  release->undoes_ = true;
  return release;
}

void Release::answered(Released outcome) {
  if (!begin_completion()) return;
  outcome_ = outcome;
  finish();
}

void Release::stands() {
  if (!begin_completion()) return;
  outcome_ = Released::released;
  stood_ = true;
  finish();
}

void Inspection::answered(std::optional<Holder> holder) {
  if (!begin_completion()) return;
  holder_ = printable(std::move(holder));
  finish();
}

void Recollection::answered(std::shared_ptr<const Record> record) {
  if (!begin_completion()) return;
  record_ = std::move(record);
  finish();
}

void Check::answered() {
  if (begin_completion()) finish();
}

}  // namespace mortise
