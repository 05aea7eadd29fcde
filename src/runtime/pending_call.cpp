// SPDX-License-Identifier: MIT
// From the start of a call to its completion: who keeps it, who posts it, and who runs its handler.
#include "runtime/pending_call.hpp"

#include "runtime/client_state.hpp"
#include "runtime/raise.hpp"

#include <new>
#include <thread>
#include <utility>

namespace mortise {

Executor::~Executor() = default;

Completion::Completion(std::shared_ptr<runtime::PendingCall> call) noexcept
    : call_(std::move(call)) {}

Completion& Completion::operator=(Completion&& other) noexcept {
  Completion old(std::move(call_));
  call_ = std::move(other.call_);
  return *this;
}

Completion::~Completion() {
  if (call_) call_->dropped();
}

void Completion::operator()() noexcept {
  const std::shared_ptr<runtime::PendingCall> call = std::move(call_);
  if (call) call->complete(true);
}

namespace runtime {
namespace {

// How soon what could not be posted is posted again.
constexpr std::chrono::milliseconds pause_before_the_next_post{10};

}  // namespace

PendingHandler::~PendingHandler() = default;

void start(std::shared_ptr<PendingCall> call, Executor* executor,
           std::unique_ptr<PendingHandler> handler) {
  call->start(std::move(handler), executor);
}

void stop_by(PendingCall& call, std::stop_token stop) noexcept { call.stop_by(std::move(stop)); }

void discard(std::shared_ptr<PendingCall> call) noexcept {
  if (call) call->discard();
}

void forsake(const std::shared_ptr<PendingCall>& call) noexcept {
  if (call) call->forsake();
}

void raise_failure_of(const PendingCall& call) {
  if (!is_contention(call.failure().code)) raise_if(call.failure());
}

class PendingCall::HandlerTask final : public Notifier::Task {
 public:
  void run() override { completion(); }
  Completion completion;
};

PendingCall::PendingCall(std::shared_ptr<ClientState> client) noexcept
    : client_(std::move(client)) {
  place_.call = this;
}

PendingCall::~PendingCall() { drop(std::move(client_)); }

void PendingCall::accept(std::unique_ptr<PendingHandler> handler, Executor* executor) {
  if (client_->forked()) throw Error(client_->closed_failure());
  handler_ = std::move(handler);
  executor_ = executor != nullptr ? executor : client_->options().executor.get();
}

void PendingCall::start(std::unique_ptr<PendingHandler> handler, Executor* executor) {
  accept(std::move(handler), executor);
  start_accepted();
}

void PendingCall::start_accepted() {
  if (executor_ == nullptr && client_->loop() == nullptr) task_ = std::make_unique<HandlerTask>();
  client_->store().background().start();
  // Counted first, then looked: close() sets its mark first, and then waits for those counted.
  client_->store().ready().add(place_);
  try {
    if (place_.counts && !client_->alive()) throw Error(client_->closed_failure());
    if (stop_.token.stop_possible()) {
      stop_.callback.emplace(std::move(stop_.token), Stopper{*this});
    }
    begin();
  } catch (...) {
    stop_.callback.reset();
    client_->store().ready().remove(place_);
    throw;
  }
  began_ = true;
  self_ = shared_from_this();
  const std::shared_ptr<ClientState> client = client_;  // a handler may be quick
  if (client->observer() == nullptr) return client->store().ready().begun(place_);
  // The observer of a wait runs on the thread of the call.
  client->store().ready().step_here(place_);
  // The observer may have forked.
  if (!client->forked()) client->store().engine().have_replies_read();
}

void PendingCall::begin_here() noexcept {
  began_ = true;
  place_.over = true;
}

bool PendingCall::is_forked() const noexcept { return client_->forked(); }

void PendingCall::end_here() noexcept {
  begin_here();
  over_ = true;
  if (executor_ == nullptr && client_->loop() == nullptr) return complete(true);
  while (!post()) std::this_thread::sleep_for(pause_before_the_next_post);
}

void PendingCall::forsake() noexcept {
  if (!began_) return discard();
  Wanted yes = Wanted::yes;
  if (client_->forked() || !wanted_.compare_exchange_strong(yes, Wanted::forsaken)) return;
  wake();
}

void PendingCall::wake() noexcept {
  if (!client_->forked()) client_->store().ready().ring(place_);
}

std::optional<Instant> PendingCall::proceed() noexcept {
  if (!over_) over_ = step();
  if (!over_) return again();
  if (post()) return std::nullopt;
  return BootClock::now() + pause_before_the_next_post;
}

bool PendingCall::post() noexcept {
  if (executor_ != nullptr) return post_to(*executor_);
  auto self = std::static_pointer_cast<PendingCall>(shared_from_this());
  if (!task_) {
    client_->loop()->delivery().post(std::move(self));
    return true;
  }
  static_cast<HandlerTask&>(*task_).completion = Completion(std::move(self));
  if (!client_->announcements().handlers().post(std::move(task_)))
    client_->store().background().serve_later();
  return true;
}

bool PendingCall::post_to(Executor& executor) noexcept {
  posting_.store(Posting::inside);
  bool threw = false;
  try {
    executor.post(Completion(std::static_pointer_cast<PendingCall>(shared_from_this())));
  } catch (...) {
    threw = true;
  }
  Posting inside = Posting::inside;
  if (posting_.compare_exchange_strong(inside, Posting::no)) return true;
  posting_.store(Posting::no);
  if (threw) return false;
  complete(false);
  return true;
}

void PendingCall::dropped() noexcept {
  // The thread inside of `post()` sees whether that has thrown, and then posts once more.
  Posting inside = Posting::inside;
  if (posting_.compare_exchange_strong(inside, Posting::returned)) return;
  complete(false);
}

void PendingCall::complete(bool run) noexcept {
  if (client_->forked()) {
    // Never destroyed: its parts may have mutexes that a thread of the parent had locked.
    static_cast<void>(new (std::nothrow) std::shared_ptr<Waker>(shared_from_this()));
    return;
  }
  stop_.callback.reset();
  const std::unique_ptr<PendingHandler> handler = std::move(handler_);
  deliver(run ? handler.get() : nullptr);
}

void PendingCall::hand_over(PendingHandler* handler, void* result) noexcept {
  Wanted yes = Wanted::yes;
  if (handler == nullptr || !wanted_.compare_exchange_strong(yes, Wanted::delivered)) return;
  handler->run(result);
}

}  // namespace runtime
}  // namespace mortise
