// SPDX-License-Identifier: MIT
// A client's side: every message goes through `deliver()`, which may lose it or hold it up.
#include "memory/link.hpp"

#include "base/farewell.hpp"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

namespace mortise::memory {
namespace {

constexpr std::size_t fewest_to_sweep = 256;

}  // namespace

void Link::start(Host& host) {
  const std::lock_guard lock(mutex_);
  host_ = &host;
  clock_ = host.clock();
}

void Link::stop() noexcept {
  std::map<AttemptId, Attempt> attempts;
  std::multimap<Instant, Work> messages;
  bool attached = false;
  {
    std::unique_lock lock(mutex_);
    stopped_ = true;
    // Other clients' threads push to this one: none may be on its way to a host that ends now.
    host_free_.wait(lock, [this] { return calling_host_ == 0; });
    attempts.swap(attempts_);
    messages.swap(messages_);
    attached = std::exchange(attached_, false);
  }
  if (attached) host_->detach(*this);
  for (const auto& [id, attempt] : attempts) {
    if (attempt.operation) base::farewell(*attempt.operation, [this] { return name_; });
  }
}

bool Link::open(Operation& operation) {
  {
    const std::lock_guard lock(mutex_);
    if (!stopped_) {
      if (store_->network().reachable()) return true;
      operation.trouble({Errc::unavailable, name_ + ": the server is not reachable"});
      return false;
    }
  }
  operation.failed({Errc::closed, name_});
  return false;
}

void Link::delay_by(std::chrono::nanoseconds delay, Work work) {
  bool attach = false;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    messages_.emplace(clock_->now() + delay, std::move(work));
    attach = !std::exchange(attached_, true);
    ++calling_host_;
  }
  try {
    if (attach) {
      host_->attach(*this);
    } else {
      host_->changed(*this);
    }
  } catch (...) {
    // No memory, or no thread: the next message tries again.
    host_->detach(*this);
    left_host(false);
    throw;
  }
  left_host(true);
}

void Link::left_host(bool attached) noexcept {
  const std::lock_guard lock(mutex_);
  attached_ = attached_ && attached;
  --calling_host_;
  host_free_.notify_all();
}

Instant Link::due() const noexcept {
  const std::lock_guard lock(mutex_);
  return messages_.empty() ? never : messages_.begin()->first;
}

void Link::ready(short /*events*/, Instant now) {
  std::vector<Work> arrived;
  {
    const std::lock_guard lock(mutex_);
    const auto end = messages_.upper_bound(now);
    for (auto it = messages_.begin(); it != end; ++it) arrived.push_back(std::move(it->second));
    messages_.erase(messages_.begin(), end);
  }
  for (const Work& work : arrived) work();
}

void Link::acquire(const std::shared_ptr<Acquisition>& operation) {
  if (operation->done() || !open(*operation)) return;
  const Acquisition::Request& request = operation->request();
  if ((request.mode == Mode::once && !request.memory) ||
      (request.mode == Mode::permit && request.permits == 0)) {
    operation->failed({Errc::unsupported, name_ + ": mode"});
    return;
  }
  const Instant asked = clock_->now();
  asks(operation, asked);
  send([self = shared_from_this(), operation, asked](Store& store) {
    return [self, operation, asked, answer = store.acquire(operation->request(), self)] {
      self->answered(operation, asked, answer);
    };
  });
}

void Link::asks(const std::shared_ptr<Acquisition>& operation, Instant asked) {
  operation->sent(asked);
  const std::lock_guard lock(mutex_);
  if (attempts_.size() >= sweep_at_) {
    // What lapsed, or was given up, without a word: what is pushed for it is given back.
    std::erase_if(attempts_, [&](const auto& each) {
      const Attempt& attempt = each.second;
      const bool waits = attempt.operation.use_count() > 1 && !attempt.operation->done();
      return !waits && attempt.until <= asked;
    });
    sweep_at_ = std::max(fewest_to_sweep, attempts_.size() * 2);
  }
  attempts_[operation->request().attempt].operation = operation;
}

void Link::answered(const std::shared_ptr<Acquisition>& operation, Instant asked,
                    const Answer& answer) {
  const Acquisition::Request& request = operation->request();
  if (answer.permits > 0) {
    forget(request.attempt);
    operation->failed({Errc::misconfigured,
                       request.name + ": the store has " + std::to_string(answer.permits) +
                           " permits, but this client asks for " + std::to_string(request.permits) +
                           "; use one number in all clients"});
  } else if (answer.grant) {
    // Counted back from this very request: the server was asked after `asked`, and had granted the
    // name at that time, or earlier by what its own clock says.
    granted(operation, *answer.grant, answer.run,
            asked - (answer.server_time - answer.grant->granted_at));
  } else if (answer.record) {
    forget(request.attempt);
    operation->recorded(answer.record);
  } else if (answer.refused || !request.wait) {
    if (forget_unless_granted(request.attempt)) operation->busy(answer.holder);
  } else {
    {
      const std::lock_guard lock(mutex_);
      const auto found = attempts_.find(request.attempt);
      if (found != attempts_.end()) found->second.to_ours = asked - answer.server_time;
    }
    operation->queued(answer.holder);
  }
}

// Noted before it is told: a reply and a push may tell of one grant, at the same moment or long
// after each other, and the second one must not take it for an orphaned grant.
void Link::granted(const std::shared_ptr<Acquisition>& operation, const ServerGrant& grant,
                   std::uint64_t run, Instant counted_from) {
  {
    const std::lock_guard lock(mutex_);
    Attempt& attempt = attempts_[grant.attempt];
    attempt.operation.reset();
    if (attempt.number == 0) attempt.number = grant.number;
    attempt.until = std::max(attempt.until, counted_from + grant.lease);
  }
  operation->granted(
      {.number = grant.number, .counted_from = counted_from, .lease = grant.lease, .run = run});
  // Where another thread completes it at this moment, its result can be read only afterwards.
  while (!operation->done()) std::this_thread::yield();
  if (operation->grant().number == grant.number) return;
  {
    const std::lock_guard lock(mutex_);
    const auto found = attempts_.find(grant.attempt);
    if (found != attempts_.end() && found->second.number == grant.number) attempts_.erase(found);
  }
  give_back(operation->request().name, operation->request().mode, grant);
}

void Link::push(const Push& push) {
  deliver(Network::Message::push, [self = shared_from_this(), push] { self->pushed(push); });
}

void Link::pushed(const Push& push) {
  const ServerGrant& grant = push.grant;
  Attempt attempt;
  {
    const std::lock_guard lock(mutex_);
    const auto found = attempts_.find(grant.attempt);
    if (found != attempts_.end()) attempt = found->second;
  }
  if (push.record) {
    forget(grant.attempt);
    if (attempt.operation) attempt.operation->recorded(push.record);
    return;
  }
  if (attempt.number == grant.number) return;  // a reply has told
  if (!attempt.operation) {
    give_back(push.name, push.mode, grant);
  } else if (!attempt.to_ours) {
    // The push overtook the reply that makes its time readable.
    acquire(attempt.operation);
  } else {
    granted(attempt.operation, grant, push.run, grant.granted_at + *attempt.to_ours);
  }
}

void Link::give_back(const std::string& name, Mode mode, const ServerGrant& grant) {
  const HoldId hold{.name = name, .attempt = grant.attempt, .number = grant.number, .mode = mode};
  deliver(Network::Message::request,
          [store = store_, hold] { store->release(hold, Store::Ends::grant); });
}

// A thread may have noted a grant of it and stand still before it tells that. A second grant that
// came meanwhile was given back, and with it the attempt is over at the server; its caller, who
// waits for as long as it takes, is still owed the first.
bool Link::forget_unless_granted(const AttemptId& attempt) {
  const std::lock_guard lock(mutex_);
  const auto found = attempts_.find(attempt);
  if (found == attempts_.end()) return true;
  if (found->second.number != 0) return false;
  attempts_.erase(found);
  return true;
}

void Link::forget(const AttemptId& attempt) {
  const std::lock_guard lock(mutex_);
  attempts_.erase(attempt);
}

void Link::renewed(const AttemptId& attempt, Instant until) {
  const std::lock_guard lock(mutex_);
  const auto found = attempts_.find(attempt);
  if (found != attempts_.end()) found->second.until = std::max(found->second.until, until);
}

void Link::cancel(const std::shared_ptr<Acquisition>& operation) {
  if (operation->done() || !open(*operation)) return;
  const Instant asked = clock_->now();
  send([self = shared_from_this(), operation, asked](Store& store) {
    Answer answer = store.cancel(operation->request());
    answer.refused = !answer.grant;
    return [self, operation, asked, answer] { self->answered(operation, asked, answer); };
  });
}

void Link::renew(const std::shared_ptr<Renewal>& operation) {
  if (!open(*operation)) {
    operation->answered();  // every item unknown: the library tries again inside the lease
    return;
  }
  const Instant asked = clock_->now();
  send([self = shared_from_this(), operation, asked](Store& store) {
    std::vector<Store::Renewed> answers;
    for (const Renewal::Item& item : operation->items()) {
      answers.push_back(store.renew(item.hold, item.lease));
    }
    return [self, operation, asked, answers] {
      for (std::size_t i = 0; i < answers.size(); ++i) {
        Renewal::Item& item = operation->items()[i];
        const bool stands = answers[i].stands;
        item.answer = stands ? Renewal::Answer::renewed : Renewal::Answer::lost;
        item.wanted = answers[i].wanted;
        if (stands) {
          self->renewed(item.hold.attempt, asked + item.lease);
        } else {
          self->forget(item.hold.attempt);
        }
        item.counted_from = asked;
        item.granted = item.lease;
      }
      operation->answered();
    };
  });
}

void Link::release(const std::shared_ptr<Release>& operation) {
  if (operation->done() || !open(*operation)) return;
  const std::shared_ptr<Acquisition>& successor = operation->successor();
  const Instant asked = clock_->now();
  if (successor && !successor->done()) asks(successor, asked);
  send([self = shared_from_this(), operation, asked](Store& store) {
    const auto ends = operation->found() != nullptr ? Store::Ends::by_force : Store::Ends::attempt;
    const Released outcome = store.release(operation->hold(), ends, operation->conclusion().get());
    std::optional<Answer> next;
    if (operation->successor() && !operation->successor()->done()) {
      next = store.acquire(operation->successor()->request(), self);
    }
    return [self, operation, asked, outcome, next] {
      if (operation->found() == nullptr) self->forget(operation->hold().attempt);
      if (next) self->answered(operation->successor(), asked, *next);
      operation->answered(outcome);
    };
  });
}

void Link::inspect(const std::shared_ptr<Inspection>& operation) {
  if (!open(*operation)) return;
  send([operation](Store& store) {
    return [operation, holder = store.inspect(operation->name())] { operation->answered(holder); };
  });
}

void Link::recall(const std::shared_ptr<Recollection>& operation) {
  if (!open(*operation)) return;
  send([operation](Store& store) {
    return [operation, record = store.recall(operation->key(), operation->kind())] {
      operation->answered(record);
    };
  });
}

void Link::list(const std::shared_ptr<Listing>& operation) {
  if (!open(*operation)) return;
  send([operation](Store& store) {
    return [operation, page = store.list(*operation)] { operation->answered(page); };
  });
}

void Link::queue(const std::shared_ptr<QueueLook>& operation) {
  if (!open(*operation)) return;
  send([operation](Store& store) {
    std::vector<HoldMark> marks;
    NameQueue queue = store.queue(*operation, marks);
    return [operation, queue = std::move(queue), marks = std::move(marks)] {
      operation->answered(queue, marks);
    };
  });
}

void Link::check(const std::shared_ptr<Check>& operation) {
  if (!open(*operation)) return;
  send([operation](Store& /*store*/) { return [operation] { operation->answered(); }; });
}

}  // namespace mortise::memory
