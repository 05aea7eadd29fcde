// SPDX-License-Identifier: MIT
// Messages that a test holds back and lets go: a network that is slow exactly where the test wants
// it to be. Beside a right backend it is only slow; the broken ones share it with that.
#pragma once

#include "model/relay.hpp"

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace mortise::model {

// Thread-safe.
class HeldMessages {
 public:
  using Message = std::function<void()>;

  void hold_back() {
    const std::lock_guard lock(mutex_);
    holds_back_ = true;
  }
  // Delivers what was held back, in its order, and what comes from now on at once.
  void let_go() {
    std::deque<Message> messages;
    {
      const std::lock_guard lock(mutex_);
      holds_back_ = false;
      messages.swap(messages_);
    }
    for (const Message& message : messages) message();
  }
  void pass(Message message) {
    {
      const std::lock_guard lock(mutex_);
      if (holds_back_) {
        messages_.push_back(std::move(message));
        return;
      }
    }
    message();
  }
  [[nodiscard]] std::size_t held_back() const {
    const std::lock_guard lock(mutex_);
    return messages_.size();
  }

 private:
  mutable std::mutex mutex_;
  bool holds_back_ = false;
  std::deque<Message> messages_;
};

// Where the messages of one backend arrive. What is let go after the backend has stopped is lost,
// as on the way to a process that has ended. Thread-safe.
class Arrivals {
 public:
  template <class Arrive>
  void pass(Arrive arrive) {
    const std::lock_guard lock(mutex_);
    if (!stopped_) arrive();
  }
  // Waits for what arrives at this moment.
  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }

 private:
  std::recursive_mutex mutex_;  // what arrives may cause another message
  bool stopped_ = false;
};

// Every answer to an acquisition, pushes too, can be held back, and changed on its way.
class AnswerRelay : public Relay {
 public:
  AnswerRelay(std::unique_ptr<Backend> behind, std::shared_ptr<HeldMessages> messages)
      : Relay(std::move(behind)), messages_(std::move(messages)) {}

  void stop() noexcept override {
    arrivals_->stop();
    Relay::stop();
  }
  void acquire(const std::shared_ptr<Acquisition>& operation) override {
    const std::shared_ptr<Asked> asked = find(operation, true);
    if (asked->done()) return;  // its answer is under way
    operation->sent(now());
    behind().acquire(asked);
    if (asked->progress() == Acquisition::Progress::queued && !asked->done()) {
      operation->queued(asked->holder());
    }
  }
  void cancel(const std::shared_ptr<Acquisition>& operation) override {
    const std::shared_ptr<Asked> asked = find(operation, false);
    if (asked != nullptr) behind().cancel(asked);
  }
  void release(const std::shared_ptr<Release>& operation) override {
    // The successor is asked for by itself, so that its answer can be held back too.
    const auto alone =
        std::make_shared<Freed>(operation->hold(), nullptr,
                                [operation](Released outcome) { operation->answered(outcome); });
    behind().release(alone);
    if (operation->successor()) acquire(operation->successor());
  }
  // What waits is known behind by another name.
  bool wait(mortise::Operation&, std::uint32_t, std::chrono::nanoseconds) override { return false; }

 protected:
  // A release as the backend behind sees it.
  class Freed final : public Release {
   public:
    Freed(HoldId hold, std::shared_ptr<Acquisition> successor, std::function<void(Released)> then)
        : Release(std::move(hold), std::move(successor)), then_(std::move(then)) {}

   private:
    void finished() noexcept override { then_(outcome()); }
    std::function<void(Released)> then_;
  };

  // What becomes of a request on its way to the backend behind.
  virtual Acquisition::Request asked_for(Acquisition::Request request) { return request; }
  // What becomes of a grant on its way to the library.
  virtual Grant delivered(Grant grant) { return grant; }

 private:
  // An acquisition as the backend behind sees it.
  class Asked final : public Acquisition {
   public:
    Asked(Request request, std::function<void(const std::shared_ptr<Asked>&)> then)
        : Acquisition(std::move(request)), then_(std::move(then)) {}

   private:
    void finished() noexcept override {
      then_(std::static_pointer_cast<Asked>(shared_from_this()));
    }
    std::function<void(const std::shared_ptr<Asked>&)> then_;
  };

  struct Entry {
    std::shared_ptr<Acquisition> operation;
    std::shared_ptr<Asked> asked;
  };

  std::shared_ptr<Asked> find(const std::shared_ptr<Acquisition>& operation, bool make) {
    const std::lock_guard lock(mutex_);
    std::erase_if(asked_, [](const auto& entry) { return entry.second.operation->done(); });
    const auto found = asked_.find(operation->request().attempt);
    if (found != asked_.end()) return found->second.asked;
    if (!make) return nullptr;
    auto asked = std::make_shared<Asked>(
        asked_for(operation->request()), [this, operation](const std::shared_ptr<Asked>& answered) {
          messages_->pass([this, arrivals = arrivals_, operation, answered] {
            arrivals->pass([&] { deliver(*operation, *answered); });
          });
        });
    asked_.emplace(operation->request().attempt, Entry{.operation = operation, .asked = asked});
    return asked;
  }

  void deliver(Acquisition& operation, const Acquisition& answered) {
    if (answered.failure()) {
      operation.failed(answered.failure());
    } else if (answered.grant().number == 0) {
      operation.busy(answered.holder());
    } else {
      operation.granted(delivered(answered.grant()));
    }
  }

  const std::shared_ptr<HeldMessages> messages_;
  const std::shared_ptr<Arrivals> arrivals_ = std::make_shared<Arrivals>();
  std::mutex mutex_;
  // Until they are done: the backend behind need not keep what it is asked.
  std::map<AttemptId, Entry> asked_;
};

// Every release can be held back on its way to the server.
class ReleaseRelay : public Relay {
 public:
  ReleaseRelay(std::unique_ptr<Backend> behind, std::shared_ptr<HeldMessages> messages)
      : Relay(std::move(behind)), messages_(std::move(messages)) {}

  void stop() noexcept override {
    arrivals_->stop();
    Relay::stop();
  }
  void release(const std::shared_ptr<Release>& operation) override {
    messages_->pass(
        [this, arrivals = arrivals_, operation] { arrivals->pass([&] { arrived(operation); }); });
  }

 protected:
  virtual void arrived(const std::shared_ptr<Release>& operation) { Relay::release(operation); }

 private:
  const std::shared_ptr<HeldMessages> messages_;
  const std::shared_ptr<Arrivals> arrivals_ = std::make_shared<Arrivals>();
};

}  // namespace mortise::model
