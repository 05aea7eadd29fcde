// SPDX-License-Identifier: MIT
// The common text of `mortise/asio.hpp` and `mortise/boost_asio.hpp`, which include it with other
// names for Asio. A program includes one of these two headers.
// No include guard: a program may include both of them.

#include <mortise/client.hpp>
#include <mortise/error.hpp>
#include <mortise/pending.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <system_error>
#include <type_traits>
#include <utility>

#ifdef MORTISE_ASIO

namespace mortise::MORTISE_ASIO_ADAPTER {

namespace net = MORTISE_ASIO;
using NetError = MORTISE_ASIO_ERROR;

namespace detail {

/// @param stopped a cancellation signal was emitted
/// @return why the call failed; contention is not a failure, but an empty result
template <class Result>
NetError error_of(const Result& result, bool stopped) {
  std::error_code ec;
  if constexpr (std::is_same_v<Result, Failure>) {
    ec = result.code;
  } else if constexpr (std::is_same_v<Result, bool>) {
    if (stopped && !result) ec = make_error_code(Errc::cancelled);
  } else if constexpr (requires { result.error(); }) {
    ec = result.error();
  }
  if (ec == Errc::cancelled) return net::error::operation_aborted;
  return ec == Errc::timeout ? NetError() : net_error_of(ec);
}

/// Calls the completion handler.
template <class Handler, class Result>
struct Upcall {
  using allocator_type = net::associated_allocator_t<Handler>;
  allocator_type get_allocator() const noexcept { return net::get_associated_allocator(handler); }
  void operator()() {
#if MORTISE_ASIO_HAS_SLOTS
    // On the executor of the handler: signals are emitted there as well.
    if (auto slot = net::get_associated_cancellation_slot(handler); slot.is_connected()) {
      slot.clear();
    }
#endif
    std::move(handler)(error, std::move(result));
  }

  Handler handler;
  NetError error;
  Result result;
};

/// @return the result of a call that has not begun: none that could be taken for a success
template <class Result>
Result refused(const std::error_code& why) {
  Result result{};
  if constexpr (std::is_same_v<Result, Failure>) result.code = why;
  if constexpr (std::is_same_v<Result, Released>) result = Released::unknown;
  return result;
}

template <class Executor>
auto tracked(const Executor& executor) {
  return net::prefer(executor, net::execution::outstanding_work.tracked);
}

/// A call that has begun, and the work that keeps both executors running until its handler runs.
///
/// It is the executor of the call: where the memory for Asio's operation is missing, the library
/// posts the completion again.
template <class Handler, class Result>
class Begun final : public Executor, public std::enable_shared_from_this<Begun<Handler, Result>> {
 public:
  Begun(Handler&& handler, const net::any_io_executor& io)
      : io_work_(tracked(io)),
        work_(tracked(net::get_associated_executor(handler, io))),
        handler_(std::move(handler)) {}

#if MORTISE_ASIO_HAS_SLOTS
  /// @return the call, which ends when a signal is emitted.
  Pending<Result> stopped_by_slot(Pending<Result>&& call) {
    auto slot = net::get_associated_cancellation_slot(handler_);
    if (!slot.is_connected()) return std::move(call);
    stop_ = std::stop_source();
    slot.assign([stop = stop_](net::cancellation_type) mutable { stop.request_stop(); });
    return std::move(call).stopped_by(stop_.get_token());
  }
#endif

  void post(Completion completion) override {
    const Work work = work_;  // the turn may be over, and this object gone, before it is posted
    net::post(work, Turn{this->shared_from_this(), std::move(completion)});
  }
  void finish(Result&& result) noexcept { result_.emplace(std::move(result)); }
  /// The call has not begun. The handler learns that later, as it would learn any other failure.
  static void refuse(std::shared_ptr<Begun> self, const std::error_code& why) {
    const Work work = self->work_;
    Upcall<Handler, Result> upcall{std::move(self->handler_), net_error_of(why),
                                   refused<Result>(why)};
    self.reset();
    net::post(work, std::move(upcall));
  }

 private:
  using Work = std::decay_t<decltype(tracked(
      std::declval<const net::associated_executor_t<Handler, net::any_io_executor>&>()))>;
  using IoWork = std::decay_t<decltype(tracked(std::declval<const net::any_io_executor&>()))>;

  /// Has the library hand over the result, and then calls the handler, which may throw.
  struct Turn {
    using allocator_type = net::associated_allocator_t<Handler>;
    allocator_type get_allocator() const noexcept {
      return net::get_associated_allocator(self->handler_);
    }
    void operator()() {
      completion();
      if (!self->result_) return;
      const IoWork io_work = self->io_work_;  // until the handler has run
      const NetError error = error_of(*self->result_, self->stop_.stop_requested());
      Upcall<Handler, Result> upcall{std::move(self->handler_), error, std::move(*self->result_)};
      // Asio's rule: the memory of an operation is free before its handler runs.
      self.reset();
      upcall();
    }

    std::shared_ptr<Begun> self;
    Completion completion;
  };

  const IoWork io_work_;
  const Work work_;
  Handler handler_;
  std::stop_source stop_{std::nostopstate};
  std::optional<Result> result_;
};

/// Begins a call for a completion handler.
template <class Result>
class Initiation {
 public:
  explicit Initiation(net::any_io_executor io) : io_(std::move(io)) {}

  template <class Handler>
  void operator()(Handler handler, Pending<Result> call) const {
    using Call = Begun<Handler, Result>;
    const auto allocator = net::get_associated_allocator(handler);
    auto begun = std::allocate_shared<Call>(allocator, std::move(handler), io_);
#if MORTISE_ASIO_HAS_SLOTS
    call = begun->stopped_by_slot(std::move(call));
#endif
    try {
      std::move(call).on(*begun).start(
          [begun](Result&& result) { begun->finish(std::move(result)); });
    } catch (const std::system_error& error) {
      Call::refuse(std::move(begun), error.code());
    }
  }

 private:
  net::any_io_executor io_;
};

}  // namespace detail

/// Begins a call, and completes with a completion token of Asio:
///
///     Guard guard = co_await async(lock.acquire_async(2s), executor, use_awaitable);
///
/// The signature of the completion is `void(error_code, Result)`. The error is empty after
/// contention: the result is then an empty `Guard` or `Permit`. If the handler has a cancellation
/// slot, a signal ends the call with `operation_aborted`, or the call ends with the hold if the
/// grant was first. An unlock does not end early. The slot replaces the token of
/// `Pending::stopped_by()`, but not `AcquireOptions::stop`.
///
/// The handler runs on its associated executor. Both executors have outstanding work until then. If
/// an executor destroys the handler, the hold is unlocked. The context of both executors (an
/// `io_context`) must outlive the call: close the client first, with `close_async()`. The executor
/// replaces that of `Pending::on()`.
/// @param pending the call
/// @param executor runs the handler if the handler has no associated executor
/// @param token `use_awaitable`, `use_future`, `detached`, a function, ...
/// @return as for an operation of Asio
template <class Result, class Token>
auto async(Pending<Result> pending, const net::any_io_executor& executor, Token&& token) {
  return net::async_initiate<Token, void(NetError, Result)>(detail::Initiation<Result>(executor),
                                                            token, std::move(pending));
}

#if MORTISE_ASIO_HAS_CO_AWAIT
/// Drives a client of `Drive::program`: calls `Client::poll()` whenever the client has work. Ends
/// when the client is closed. Run it with `co_spawn(io, drive(client), detached)`.
/// @param client must outlive the coroutine
inline net::awaitable<void> drive(Client& client) {
  // The descriptor belongs to the client.
  struct Lent {
    Lent(const net::any_io_executor& executor, int descriptor) : readable(executor, descriptor) {}
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;
    ~Lent() { readable.release(); }
    net::posix::stream_descriptor readable;
  };
  const net::any_io_executor executor = co_await net::this_coro::executor;
  Lent lent(executor, client.descriptor());
  for (;;) {
    client.poll();
    if (client.is_closed()) break;
    co_await lent.readable.async_wait(net::posix::stream_descriptor::wait_read, net::use_awaitable);
  }
  while (client.poll() > 0) {
  }
}
#endif

}  // namespace mortise::MORTISE_ASIO_ADAPTER

#endif
