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

StoreDescription RedlockBackend::describe() const {
  return {.name = words_,
          .capabilities = {
              .leases = Support::yes,
              .fencing = Support::yes,
              .fair = Support::no,
              .push_wakeup = Support::yes,
              .one_wake = Support::no,
              // Yes for a minority, or with persistence. The client cannot know which it is.
              .survives_restart = Support::unknown,
              // The fail-over of any minority.
              .survives_failover = Support::yes,
              .shared_mode = Support::yes,
              .min_hold = Support::yes}};
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
  return client_->polling.begin(operation, [this] { return words_; });
}

void RedlockBackend::acquire(const std::shared_ptr<Acquisition>& operation) {
  if (!open(*operation)) return;
  const Mode mode = operation->request().mode;
  if (mode == Mode::permit || mode == Mode::once) {
    return operation->failed({Errc::unsupported, words_ + ": mode"});
  }
  if (const auto attempt = client_->attempts.find_or_make(operation)) client_->rounds.ask(attempt);
}

void RedlockBackend::cancel(const std::shared_ptr<Acquisition>& operation) {
  if (open(*operation)) client_->rounds.cancel(operation);
}

// See src/redlock/README.md. The client could ask each server for its votes. But such lists come
// from different moments, and a hold that is just being taken has fewer votes than it needs. So the
// lists do not show which votes make a hold.
std::string RedlockBackend::why_not(Feature feature) const {
  switch (feature) {
    case Feature::once: return "a quorum cannot write an outcome in one step";
    case Feature::permits: return "majority voting guarantees one holder, but not at most N";
    case Feature::lists: return "each server knows only its own votes; ask holder() for one name";
    case Feature::queues: return "the next majority decides; ask holder() for the holder";
    case Feature::shared:
    case Feature::holders:
    case Feature::forces: break;
  }
  return {};
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

void RedlockBackend::find(const std::shared_ptr<QueueLook>& operation) {
  if (open(*operation)) client_->questions.look(std::make_shared<Looking>(operation));
}

void RedlockBackend::end(const std::shared_ptr<Release>& operation) { release(operation); }

}  // namespace mortise::redlock
