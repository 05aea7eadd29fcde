// SPDX-License-Identifier: MIT
// Drives one operation to its end without a client, by polling the backend's sources itself.
#include "remote/one_shot.hpp"

#include "base/poll_sources.hpp"
#include "base/span.hpp"

#include <string>

namespace mortise::remote {

void OneShotHost::run(const Operation& operation, std::chrono::milliseconds at_most) {
  const Instant end = clock_->now() + base::bounded_wait(at_most);
  // Looked at first: where it is over already, perhaps nothing ever comes that ends a poll.
  while (!operation.done()) {
    base::poll_sources(sources_, *clock_, end);
    if (clock_->now() >= end) return;
  }
}

std::optional<Holder> force_release(Backend& backend, std::string_view name,
                                    std::chrono::milliseconds wait, Token of) {
  if (name.empty()) throw Error({Errc::misconfigured, "the lock's name is empty"});
  OneShotHost host;
  const auto operation = std::make_shared<ForcedRelease>(std::string(name), of);
  backend.start(host);
  backend.force_release(operation);
  host.run(*operation, wait);
  // Read first: `stop()` completes what is still open.
  const bool done = operation->done();
  const std::optional<Failure> trouble = operation->trouble();
  backend.stop();
  if (done && !operation->failure()) return operation->holder();
  if (done) throw Error(operation->failure());
  throw Error(trouble ? *trouble
                      : Failure{Errc::unavailable, backend.describe() + ": no answer in time"});
}

}  // namespace mortise::remote
