// SPDX-License-Identifier: MIT
// Backends with one fault each, of the kinds that lock services in the field have had. A history
// that does not show them is blind. None of them is an example of anything.
#pragma once

#include <mortise/memory.hpp>

#include "model/held_messages.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace mortise::model {

// S3: a release frees the name, whoever holds it.
class FreesWhoeverHolds final : public ReleaseRelay {
 public:
  using Free = std::function<void(const std::string& name)>;

  FreesWhoeverHolds(std::unique_ptr<Backend> behind, std::shared_ptr<HeldMessages> messages,
                    Free free)
      : ReleaseRelay(std::move(behind), std::move(messages)), free_(std::move(free)) {}

 private:
  void arrived(const std::shared_ptr<Release>& operation) override {
    if (operation->done()) return;
    free_(operation->hold().name);
    operation->answered(Released::released);
    if (operation->successor()) acquire(operation->successor());
  }

  const Free free_;
};

// S1: the lease is counted from the moment at which its answer arrives.
// Where a server tells that the hold is over, that overtakes the answer, and the library would know
// better: so nobody hears it.
class CountsFromTheAnswer final : public AnswerRelay {
 public:
  using AnswerRelay::AnswerRelay;
  void start(Host& host) override { AnswerRelay::start(deaf_.emplace(host)); }

 private:
  std::optional<DeafHost> deaf_;
  Grant delivered(Grant grant) override {
    grant.counted_from = now();
    return grant;
  }
};

// S8: whoever waited believes whatever wakes it, without another look at its lease: that the name
// is its own as soon as the holder that it saw in front of it may be gone.
class BelievesTheWakeUp final : public Relay {
 public:
  using Relay::Relay;

  void acquire(const std::shared_ptr<Acquisition>& operation) override {
    const bool waited = operation->progress() == Acquisition::Progress::queued;
    Relay::acquire(operation);
    // Asked again: this is the wake-up. It should have read the answer.
    if (!waited || operation->done()) return;
    operation->granted({.number = operation->holder()->token.value() / tokens_a_grant + 1,
                        .counted_from = now(),
                        .lease = operation->request().lease});
  }

 private:
  static constexpr std::uint64_t tokens_a_grant = 1024;
};

// S2: grant numbers come from a counter apart from the lock, which may be started anew. The right
// backend behind goes on with numbers of its own.
class CountsApart final : public AnswerRelay {
 public:
  using Counter = std::function<std::uint64_t()>;  // thread-safe

  CountsApart(std::unique_ptr<Backend> behind, Counter next)
      : AnswerRelay(std::move(behind), std::make_shared<HeldMessages>()), next_(std::move(next)) {}

  void renew(const std::shared_ptr<Renewal>& operation) override {
    for (Renewal::Item& item : operation->items()) item.hold.number = real(item.hold.number);
    AnswerRelay::renew(operation);
  }
  void release(const std::shared_ptr<Release>& operation) override {
    HoldId hold = operation->hold();
    hold.number = real(hold.number);
    AnswerRelay::release(
        std::make_shared<Freed>(std::move(hold), operation->successor(),
                                [operation](Released outcome) { operation->answered(outcome); }));
  }

 private:
  Grant delivered(Grant grant) override {
    const std::uint64_t number = next_();
    const std::lock_guard lock(mutex_);
    real_[number] = std::exchange(grant.number, number);
    return grant;
  }
  std::uint64_t real(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    return real_[number];
  }

  const Counter next_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> real_;  // as delivered -> of the backend behind
};

// N1, N2: whoever wants to write is written down as one who reads.
class ReadsWhereItShouldWrite final : public AnswerRelay {
 public:
  using AnswerRelay::AnswerRelay;

 private:
  Acquisition::Request asked_for(Acquisition::Request request) override {
    if (request.mode == Mode::exclusive) request.mode = Mode::shared;
    return request;
  }
};

// M1: a semaphore that has one permit too many.
class HasOneTooMany final : public AnswerRelay {
 public:
  using AnswerRelay::AnswerRelay;

 private:
  Acquisition::Request asked_for(Acquisition::Request request) override {
    ++request.permits;
    return request;
  }
};

// S4: a renewal sets the lease, and does not look whether the hold still stands.
class RevivesHolds final : public Relay {
 public:
  using Relay::Relay;

  void renew(const std::shared_ptr<Renewal>& operation) override {
    for (Renewal::Item& item : operation->items()) {
      item.counted_from = now();
      item.granted = item.lease;
      item.answer = Renewal::Answer::renewed;
    }
    operation->answered();
  }
};

}  // namespace mortise::model
