// SPDX-License-Identifier: MIT
#include "base/errand.hpp"

#include "base/span.hpp"

#include <poll.h>

#include <algorithm>
#include <string>

namespace mortise::base {

void Errand::run(const Operation& operation, std::chrono::milliseconds at_most) {
  const Instant end = clock_->now() + bounded_wait(at_most);
  while (!operation.done()) {
    Instant until = end;
    std::vector<pollfd> polled;
    const std::vector<Source*> sources = sources_;
    for (const Source* source : sources) {
      until = std::min(until, source->due());
      polled.push_back({source->descriptor(), source->interest(), 0});
    }
    ::poll(polled.data(), polled.size(), poll_time(until - clock_->now()));
    const Instant now = clock_->now();
    for (std::size_t i = 0; i < sources.size(); ++i) {
      if (polled[i].revents != 0 || sources[i]->due() <= now) {
        sources[i]->ready(polled[i].revents, now);
      }
    }
    if (now >= end) return;
  }
}

std::optional<Holder> run_errand(
    Backend& backend, std::string_view name, std::chrono::milliseconds wait,
    const std::function<void(const std::shared_ptr<Inspection>&)>& send) {
  if (name.empty()) throw LockError({Errc::misconfigured, "the lock's name is empty"});
  Errand errand;
  const auto operation = std::make_shared<Inspection>(std::string(name));
  backend.start(errand);
  send(operation);
  errand.run(*operation, wait);
  const bool done = operation->done();
  const std::optional<Failure> trouble = operation->trouble();
  backend.stop();
  if (done && !operation->failure()) return operation->holder();
  if (done) throw LockError(operation->failure());
  throw LockError(trouble ? *trouble
                          : Failure{Errc::unavailable, backend.describe() + ": no answer in time"});
}

}  // namespace mortise::base
