// SPDX-License-Identifier: MIT
#include "redlock/redlock_backend.hpp"

#include "base/farewell.hpp"
#include "redlock/redlock_client.hpp"

#include <utility>

namespace mortise::redlock {

RedlockBackend::RedlockBackend(Settings settings)
    : settings_(std::move(settings)),
      words_(settings_.text()),
      tls_(settings_.nodes.front().tls
               ? std::make_unique<remote::Tls>(*settings_.nodes.front().tls, "redis")
               : nullptr) {}

RedlockBackend::~RedlockBackend() = default;

Capabilities RedlockBackend::capabilities() const {
  return {.leases = Support::yes,
          .fencing = Support::yes,
          .fair = Support::no,
          .push_wakeup = Support::yes,
          .one_wake = Support::no,
          // Of a minority, or with persistence, or delayed by a lease; servers do not tell.
          .survives_restart = Support::unknown,
          // Of any minority.
          .survives_failover = Support::yes,
          .shared_mode = Support::yes,
          .min_hold = Support::yes,
          .forces = Support::yes};
}

void RedlockBackend::start(Host& host) {
  client_ = std::make_unique<RedlockClient>(settings_, words_, tls_.get(), host);
}

void RedlockBackend::stop() noexcept {
  if (!client_) return;
  // If there is no memory for that, what is left ends with its lease.
  base::without_memory([&] { client_->polling.give_back_the_rest(); });
  client_->close();
}

bool RedlockBackend::open(Operation& operation) {
  return client_->polling.begin(operation, [this] { return describe(); });
}

void RedlockBackend::acquire(const std::shared_ptr<Acquisition>& operation) {
  if (!open(*operation)) return;
  if (operation->request().mode == Mode::permit || operation->request().mode == Mode::once) {
    operation->failed(without(operation->request().mode));
    return;
  }
  if (const auto attempt = client_->attempts.find_or_make(operation)) client_->rounds.ask(attempt);
}

void RedlockBackend::cancel(const std::shared_ptr<Acquisition>& operation) {
  if (open(*operation)) client_->rounds.cancel(operation);
}

void RedlockBackend::recall(const std::shared_ptr<Recollection>& operation) {
  operation->failed(without(Mode::once));
}

// See src/redlock/README.md.
std::string RedlockBackend::why_not(Mode mode) const {
  switch (mode) {
    case Mode::once: return "a quorum cannot write an outcome in one step";
    case Mode::permit: return "majority voting guarantees one holder, but not at most N";
    case Mode::exclusive:
    case Mode::shared: break;
  }
  return {};
}

Failure RedlockBackend::without(Mode mode) const {
  return {Errc::unsupported, describe() + ": " + why_not(mode)};
}

void RedlockBackend::renew(const std::shared_ptr<Renewal>& operation) {
  if (open(*operation)) client_->renewals.renew(operation);
}

void RedlockBackend::release(const std::shared_ptr<Release>& operation) {
  if (open(*operation)) client_->releases.release(operation);
}

void RedlockBackend::inspect(const std::shared_ptr<Inspection>& operation) {
  if (open(*operation)) client_->questions.look(std::make_shared<Looking>(operation));
}

void RedlockBackend::check(const std::shared_ptr<Check>& operation) {
  if (open(*operation)) client_->questions.look(std::make_shared<Looking>(operation));
}

// The client could ask each server for its votes. But such lists come from different moments, and a
// hold that is just being taken has fewer votes than it needs. So the lists do not show which votes
// make a hold.
void RedlockBackend::list(const std::shared_ptr<Listing>& operation) {
  operation->failed({Errc::unsupported, describe() +
                                            ": names cannot be listed, because each server "
                                            "knows only its own votes; ask holder() for one name"});
}

void RedlockBackend::queue(const std::shared_ptr<QueueLook>& operation) {
  if (!operation->identifies()) {
    operation->failed({Errc::unsupported, describe() +
                                              ": there is no queue, because the next majority "
                                              "decides; ask holder() for the holder"});
  } else if (open(*operation)) {
    client_->questions.look(std::make_shared<Looking>(operation));
  }
}

}  // namespace mortise::redlock
