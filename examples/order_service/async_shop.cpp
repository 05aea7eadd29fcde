// SPDX-License-Identifier: MIT
#include "async_shop.hpp"

#include <boost/beast.hpp>
#include <chrono>
#include <utility>

namespace shop {
namespace {

using namespace std::chrono_literals;
namespace http = boost::beast::http;
using mortise::boost_asio_adapter::async;
using net::use_awaitable;

/// @return the result of a call, which has the error if the call failed.
template <class Result>
net::awaitable<Result> result_of(mortise::Pending<Result> call) {
  auto io = co_await net::this_coro::executor;
  boost::system::error_code error;
  co_return co_await async(std::move(call), io, net::redirect_error(use_awaitable, error));
}

}  // namespace

net::awaitable<std::string> AsyncShop::order(Order order) {
  mortise::Once key = shop_.key_of(order);
  mortise::Run run = co_await result_of(key.begin_async());
  if (!run && run.error() && !mortise::is_contention(run.error())) {
    mortise::Failure failure;
    failure.code = run.error();
    throw mortise::Error(failure);
  }
  if (run) {  // an exception gives the key back
    const mortise::AcquireOptions patience = shop_.patience();
    mortise::ReadWriteLock shelf = shop_.shelf_of(order.item);
    mortise::Guard writing = co_await result_of(shelf.writer().acquire_async(patience));
    require(writing);
    co_await run_on(transactions_, [&] { shop_.sell(order, run, writing); });
    co_await result_of(writing.unlock_async());
  }
  co_return Shop::answer_of(run.outcome());
}

// [ship]
net::awaitable<std::string> AsyncShop::ship(std::string order) {
  const mortise::AcquireOptions patience = shop_.patience();
  mortise::Lock lock = shop_.lock_of(order);
  mortise::Guard mine = co_await result_of(lock.acquire_async(patience));
  require(mine);
  const bool before = co_await run_on(transactions_, [&] { return shop_.is_shipped(order); });
  if (!before) {
    co_await get_label(order);
    co_await run_on(transactions_, [&] { shop_.note_shipment(order, mine.token()); });
  }
  co_await result_of(mine.unlock_async());
  co_return before ? "shipped before" : "shipped";
}
// [/ship]

net::awaitable<void> AsyncShop::get_label(std::string order) {
  auto io = co_await net::this_coro::executor;
  const mortise::AcquireOptions patience = shop_.patience();
  mortise::Semaphore printers = shop_.printers();
  mortise::Permit permit = co_await result_of(printers.acquire_async(patience));
  require(permit);
  const std::string& address = shop_.settings().partner;
  const std::size_t colon = address.rfind(':');
  net::ip::tcp::resolver resolver(io);
  const auto found = co_await resolver.async_resolve(address.substr(0, colon),
                                                     address.substr(colon + 1), use_awaitable);
  boost::beast::tcp_stream partner(io);
  partner.expires_after(60s);
  co_await partner.async_connect(found, use_awaitable);
  http::request<http::empty_body> request(http::verb::get, "/label?order=" + order, 11);
  request.set(http::field::host, address);
  co_await http::async_write(partner, request, use_awaitable);
  boost::beast::flat_buffer buffer;
  http::response<http::string_body> label;
  co_await http::async_read(partner, buffer, label, use_awaitable);
  if (label.result() != http::status::ok) throw Refused(503, "no label from the partner");
  co_await result_of(permit.unlock_async());
}

net::awaitable<std::string> AsyncShop::stock(std::string item) {
  const mortise::AcquireOptions patience = shop_.patience();
  mortise::ReadWriteLock shelf = shop_.shelf_of(item);
  mortise::Guard reading = co_await result_of(shelf.reader().acquire_async(patience));
  require(reading);
  std::string answer = co_await run_on(transactions_, [&] { return shop_.count(item, reading); });
  co_await result_of(reading.unlock_async());
  co_return answer;
}

net::awaitable<std::string> AsyncShop::transfer(std::string from, std::string to, int amount) {
  co_return co_await run_on(blocking_, [&] { return shop_.transfer(from, to, amount); });
}

net::awaitable<void> AsyncShop::close_day(std::string day) {
  co_await run_on(blocking_, [&] { shop_.close_day(day); });
}

net::awaitable<std::string> AsyncShop::health() {
  co_return co_await run_on(operators_, [&] { return shop_.health(); });
}

}  // namespace shop
