// SPDX-License-Identifier: MIT
// From the start of a call to its completion: who keeps it, who posts it, and who runs its handler.
#include "runtime/call/pending_call.hpp"

#include "base/quiet_thread.hpp"
#include "runtime/client/client_state.hpp"
#include "runtime/client/raise.hpp"

#include <exception>
#include <new>
#include <system_error>
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

namespace detail {

Handler::~Handler() = default;

void start(std::shared_ptr<runtime::PendingCall> call, Executor* executor,
           std::unique_ptr<Handler> handler) {
  call->start(std::move(handler), executor);
}

void stop_by(runtime::PendingCall& call, std::stop_token stop) noexcept {
  call.stop_by(std::move(stop));
}

void discard(std::shared_ptr<runtime::PendingCall> call) noexcept {
  if (call) call->discard();
}

void forsake(const std::shared_ptr<runtime::PendingCall>& call) noexcept {
  if (call) call->forsake();
}

void raise_failure_of(const runtime::PendingCall& call) {
  if (!is_contention(call.failure().code)) runtime::raise_if(call.failure());
}

}  // namespace detail

namespace runtime {
namespace {

// How soon what could not be posted is posted again. An executor does not report when it can take
// completions again.
constexpr std::chrono::milliseconds pause_before_the_next_post{10};
// How often, if the client is closed and only the calling thread is left to try it.
constexpr int most_last_posts = 50;

}  // namespace

Failure reason_of(const std::exception& error) noexcept {
  Failure why;
  why.code = Errc::exhausted;
  try {
    const auto* const known = dynamic_cast<const std::system_error*>(&error);
    if (known != nullptr) why = failure_of(*known);
  } catch (const std::exception&) {
    // Out of memory for the words.
  }
  return why;
}

class PendingCall::HandlerTask final : public Notifier::Task {
 public:
  void run() override { completion(); }
  Completion completion;
};

PendingCall::PendingCall(std::shared_ptr<ClientState> client) noexcept
    : client_(std::move(client)) {
  place_.call = this;
  place_.observed = client_->observer() != nullptr;
}

PendingCall::~PendingCall() { drop(std::move(client_)); }

void PendingCall::accept(std::unique_ptr<detail::Handler> handler, Executor* executor) {
  if (client_->forked()) throw Error(client_->closed_failure());
  handler_ = std::move(handler);
  way_.executor = executor != nullptr ? executor : client_->options().executor.get();
}

void PendingCall::start(std::unique_ptr<detail::Handler> handler, Executor* executor) {
  accept(std::move(handler), executor);
  start_accepted();
}

void PendingCall::start_accepted() {
  if (client_->loop() == nullptr) way_.task = std::make_unique<HandlerTask>();
  client_->store().background().start();
  // Counted first, then looked: close() sets its mark first, and then waits for those counted.
  client_->store().ready().add(place_);
  try {
    if (place_.counts && !client_->alive()) throw Error(client_->closed_failure());
    if (stop_.token.stop_possible()) {
      stop_.callback.emplace(stop_.token, Stopper{*this});
    }
    begin();
  } catch (...) {
    stop_.callback.reset();
    client_->store().ready().remove(place_);
    throw;
  }
  began_ = true;
  place_.kept = shared_from_this();
  const std::shared_ptr<ClientState> client = client_;  // a handler may be quick
  if (!place_.observed) return client->store().ready().begun(place_);
  // The observer of a wait runs on the thread of the call.
  client->store().ready().step_here(place_);
  // The observer may have forked.
  if (!client->forked()) client->store().engine().have_replies_read();
}

void PendingCall::end_elsewhere() {
  began_ = true;  // the thread may be over before this call returns
  place_.over = true;
  way_.task.reset();
  if (client_->loop() != nullptr) return end_and_post();
  base::detached_thread(
      [self = std::static_pointer_cast<PendingCall>(shared_from_this())] { self->end_and_post(); });
}

bool PendingCall::must_end() const noexcept { return client_->store().ready().has_ended(); }

void PendingCall::end_and_post() noexcept {
  end();
  over_ = true;
  for (int left = client_->loop() != nullptr ? 0 : most_last_posts; !post(); --left) {
    if (left <= 0) return post_here(false);
    std::this_thread::sleep_for(pause_before_the_next_post);
  }
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

std::optional<Instant> PendingCall::proceed(bool posts) noexcept {
  if (!over_ && !attempt([this] { over_ = step(); })) {
    // If this finds no memory either, a request that it could not send ends by itself.
    static_cast<void>(tried([this] { abandon(); }));
    over_ = true;
  }
  if (!over_) return again();
  if (!posts) return Instant{};
  if (post()) return std::nullopt;
  if (!must_end()) return BootClock::now() + pause_before_the_next_post;
  post_here(false);
  return std::nullopt;
}

// A program that has destroyed the coroutine may destroy its executor as well.
bool PendingCall::post() noexcept {
  if (way_.executor != nullptr && wanted_.load() != Wanted::forsaken) {
    return post_to(*way_.executor);
  }
  post_here(true);
  return true;
}

void PendingCall::post_here(bool runs) noexcept {
  way_.executor = nullptr;
  way_.drops = !runs;
  auto self = std::static_pointer_cast<PendingCall>(shared_from_this());
  if (Loop* const loop = client_->loop()) return loop->delivery().post(std::move(self));
  if (!way_.task) return complete(true);
  static_cast<HandlerTask&>(*way_.task).completion = Completion(std::move(self));
  if (!client_->announcements().handlers().post(std::move(way_.task))) {
    client_->store().background().serve_later();
  }
}

// The calling thread runs no code of the program: if the executor destroys the completion, another
// thread destroys the handler.
bool PendingCall::post_to(Executor& executor) noexcept {
  way_.posting.store(Posting::inside);
  bool threw = false;
  try {
    executor.post(Completion(std::static_pointer_cast<PendingCall>(shared_from_this())));
  } catch (...) {  // whatever the program throws
    threw = true;
  }
  if (client_->forked()) return true;  // by the executor: the call is its parent's
  Posting inside = Posting::inside;
  if (way_.posting.compare_exchange_strong(inside, Posting::no)) return true;
  way_.posting.store(Posting::no);
  if (threw) return false;
  post_here(false);
  return true;
}

void PendingCall::dropped() noexcept {
  // The thread inside of `post()` sees whether that has thrown, and then posts once more.
  Posting inside = Posting::inside;
  if (way_.posting.compare_exchange_strong(inside, Posting::returned)) return;
  complete(false);
}

void PendingCall::complete(bool run) noexcept {
  if (client_->forked()) {
    // Never destroyed: its parts may have mutexes that a thread of the parent had locked.
    static_cast<void>(new (std::nothrow) std::shared_ptr<Waker>(shared_from_this()));
    return;
  }
  if (way_.completed.exchange(true)) return;
  stop_.callback.reset();
  const std::unique_ptr<detail::Handler> handler = std::move(handler_);
  deliver(run && !way_.drops ? handler.get() : nullptr);
}

void PendingCall::hand_over(detail::Handler* handler, void* result) noexcept {
  Wanted yes = Wanted::yes;
  if (handler == nullptr || !wanted_.compare_exchange_strong(yes, Wanted::delivered)) return;
  handler->run(result);
}

}  // namespace runtime
}  // namespace mortise
