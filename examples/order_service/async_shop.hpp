// SPDX-License-Identifier: MIT
// The same shop on an event loop. An order, a shipment or a look at the stock is a coroutine, and
// blocks no thread while it waits for a lock, for a permit or for the partner.
#pragma once

#include <mortise/boost_asio.hpp>
#include <mortise/mortise.hpp>

#include "shop.hpp"

#include <boost/asio.hpp>
#include <string>
#include <type_traits>

namespace shop {

namespace net = boost::asio;

/// The calls of `Shop` as coroutines. libpq blocks, so transactions run on a pool. The pool has as
/// many threads as connections, and none of these threads waits for a lock.
/// @thread_safety One thread runs the event loop.
class AsyncShop {
 public:
  /// @param shop has the clients; must outlive this object
  explicit AsyncShop(Shop& shop) : shop_(shop) {}

  net::awaitable<std::string> order(Order order);
  net::awaitable<std::string> ship(std::string order);
  net::awaitable<std::string> stock(std::string item);
  net::awaitable<std::string> transfer(std::string from, std::string to, int amount);
  net::awaitable<void> close_day(std::string day);
  net::awaitable<std::string> health();
  net::awaitable<std::string> metrics() { co_return shop_.metrics(); }

 private:
  /// Runs a function on a pool, and continues on the event loop.
  template <class Work>
  static net::awaitable<std::invoke_result_t<Work>> run_on(net::thread_pool& pool, Work work) {
    const auto job = [&work]() -> net::awaitable<std::invoke_result_t<Work>> { co_return work(); };
    co_return co_await net::co_spawn(pool, job, net::use_awaitable);
  }
  net::awaitable<void> get_label(std::string order);

  Shop& shop_;
  net::thread_pool transactions_{8};
  net::thread_pool blocking_{4};   // for the blocking calls of transfers and of the nightly job
  net::thread_pool operators_{1};  // answers even if all others are busy
};

}  // namespace shop
