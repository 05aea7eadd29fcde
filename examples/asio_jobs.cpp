// SPDX-License-Identifier: MIT
// A service on one io_context of Asio: many orders at a time, no thread waits for a lock, and the
// client starts none. usage: asio_jobs [url]
#include <mortise/asio.hpp>
#include <mortise/mortise.hpp>

#include <asio/experimental/awaitable_operators.hpp>
#include <chrono>
#include <csignal>
#include <exception>
#include <iostream>
#include <map>
#include <stop_token>
#include <string>

namespace {

using namespace std::chrono_literals;
using asio::use_awaitable;
using mortise::asio_adapter::async;

struct Shop {
  std::map<std::string, int> inside{};
  int overlaps = 0;
  int shipped = 0;
  int lost = 0;
  int busy = 0;
  std::stop_source stop{};
};

/// A job that works on an order.
class Inside {
 public:
  Inside(Shop& shop, const std::string& order) : jobs_(shop.inside[order]) {
    if (++jobs_ > 1) ++shop.overlaps;
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() { --jobs_; }

 private:
  int& jobs_;
};

// [ship]
asio::awaitable<void> pack(Shop& shop, const std::string& order) {
  const Inside inside(shop, order);  // counts the job out as well if the wait is cancelled
  asio::steady_timer work(co_await asio::this_coro::executor, 2ms);
  co_await work.async_wait(use_awaitable);  // other jobs run in between
}

asio::awaitable<void> ship(mortise::Client& client, Shop& shop, std::string order) {
  using namespace asio::experimental::awaitable_operators;
  auto io = co_await asio::this_coro::executor;
  mortise::Lock lock = client.make_lock("orders/" + order);
  const mortise::AcquireOptions options{.wait = 30s, .stop = shop.stop.get_token()};
  asio::error_code error;
  mortise::Guard guard =
      co_await async(lock.acquire_async(options), io, asio::redirect_error(use_awaitable, error));
  if (error == asio::error::operation_aborted) co_return;  // the service stops
  if (error) throw asio::system_error(error);
  if (!guard) {  // another client has the order
    ++shop.busy;
    co_return;
  }
  const auto first = co_await (pack(shop, order) || async(guard.lost_async(), io, use_awaitable));
  if (first.index() == 1) {  // the lock was lost, so the work was stopped
    ++shop.lost;
    co_return;
  }
  const mortise::Released end = co_await async(guard.unlock_async(), io, use_awaitable);
  if (end == mortise::Released::released) ++shop.shipped;
}
// [/ship]

// [serve]
asio::awaitable<void> serve(mortise::Client& client, Shop& shop) {
  auto io = co_await asio::this_coro::executor;
  asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait([&](asio::error_code error, int) {
    if (!error) shop.stop.request_stop();  // all waits end, and then the jobs
  });
  constexpr int jobs = 50;
  int over = 0;
  asio::steady_timer all_over(io, asio::steady_timer::time_point::max());
  for (int i = 0; i < jobs; ++i) {
    asio::co_spawn(io, ship(client, shop, i % 2 == 0 ? "42" : "43"), [&](std::exception_ptr error) {
      if (error) std::rethrow_exception(error);
      if (++over == jobs) all_over.cancel();
    });
  }
  asio::error_code cancelled;
  co_await all_over.async_wait(asio::redirect_error(use_awaitable, cancelled));
  signals.cancel();
  co_await async(client.close_async(), io, use_awaitable);  // ends drive()
}
// [/serve]

}  // namespace

int main(int argc, char** argv) try {
  Shop shop;
  // [main]
  asio::io_context io(1);
  mortise::Client client(argc > 1 ? argv[1] : "memory:", {.drive = mortise::Drive::program});
  asio::co_spawn(io, mortise::asio_adapter::drive(client), asio::detached);
  asio::co_spawn(io, serve(client, shop), asio::detached);
  io.run();
  // [/main]
  std::cout << shop.shipped << " jobs for 2 orders, " << shop.overlaps << " overlaps, " << shop.lost
            << " lost\n";
  return shop.overlaps == 0 && shop.busy == 0 ? 0 : 1;
} catch (const std::exception& e) {
  std::cerr << "asio_jobs: " << e.what() << "\n";
  return 2;
}
