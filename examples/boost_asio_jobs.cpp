// SPDX-License-Identifier: MIT
// Locks with the completion tokens of Boost.Asio: a function, a future, and a coroutine. The client
// has threads of its own, so the program drives nothing. usage: boost_asio_jobs [url]
#include <mortise/boost_asio.hpp>
#include <mortise/mortise.hpp>

#include <chrono>
#include <exception>
#include <future>
#include <iostream>
#include <thread>

namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using mortise::boost_asio_adapter::async;

asio::awaitable<void> count(mortise::Client& client, int& counter) {
  auto io = co_await asio::this_coro::executor;
  mortise::Lock lock = client.make_lock("counter");
  mortise::Guard guard = co_await async(lock.acquire_async(30s), io, asio::use_awaitable);
  if (guard) ++counter;
  co_await async(guard.unlock_async(), io, asio::use_awaitable);
}

}  // namespace

int main(int argc, char** argv) try {
  asio::io_context io(1);
  mortise::Client client(argc > 1 ? argv[1] : "memory:");
  mortise::Lock lock = client.make_lock("counter");
  int counter = 0;
  for (int i = 0; i < 20; ++i) asio::co_spawn(io, count(client, counter), asio::detached);
  async(lock.acquire_async(30s), io.get_executor(),
        [&](boost::system::error_code error, mortise::Guard guard) {
          if (!error && guard) ++counter;
        });
  std::future<mortise::Guard> held =
      async(lock.acquire_async(30s), io.get_executor(), asio::use_future);
  std::thread loop([&] { io.run(); });
  if (held.get()) std::cout << "a future has held the lock\n";
  loop.join();
  std::cout << "counted to " << counter << "\n";
  return counter == 21 ? 0 : 1;
} catch (const std::exception& e) {
  std::cerr << "boost_asio_jobs: " << e.what() << "\n";
  return 2;
}
