// SPDX-License-Identifier: MIT
// An order service: HTTP, PostgreSQL, Redis, and any number of copies. Before the first copy:
//   psql URL -f schema.sql && mortise migrate --url URL --role shop
// usage: order_service PORT OPERATORS_PORT POSTGRES_URL REDIS_URL PARTNER [SECONDS_OF_A_DAY]
#include "shop.hpp"

#include <httplib.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <exception>
#include <iostream>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

namespace {

using httplib::Request;
using httplib::Response;

template <class Call>
httplib::Server::Handler answer(Call call) {
  return [call](const Request& request, Response& response) {
    response.set_content(call(request), "text/plain");
  };
}

void explain(const Request& request, Response& response, const std::exception_ptr& error) {
  const shop::Refused refused = shop::refusal_of(error);
  response.status = refused.status;
  response.body = refused.what();
  if (response.status < 500) return;
  std::clog << request.method + " " + request.path + ": " + response.body + "\n";
}

int number(const Request& request, const char* name) {
  const int value = std::stoi(request.get_param_value(name));
  if (value <= 0) throw std::out_of_range(name);
  return value;
}

void add_orders(httplib::Server& server, shop::Shop& shop) {
  server.Post("/orders", answer([&](const Request& request) {
                return shop.order({request.get_header_value("Idempotency-Key"),
                                   request.get_param_value("item"), number(request, "quantity"),
                                   number(request, "amount")});
              }));
  server.Post(R"(/orders/(\d+)/ship)",
              answer([&](const Request& request) { return shop.ship(request.matches[1]); }));
  server.Get(R"(/stock/(\w+))",
             answer([&](const Request& request) { return shop.stock(request.matches[1]); }));
  server.Post("/transfers", answer([&](const Request& request) {
                return shop.transfer(request.get_param_value("from"), request.get_param_value("to"),
                                     number(request, "amount"));
              }));
}

void listen_at(httplib::Server& server, const char* port) {
  server.set_exception_handler(explain);
  server.set_keep_alive_max_count(1);  // a connection that stays open would occupy a thread
  if (server.bind_to_port("127.0.0.1", std::stoi(port))) return;
  throw std::runtime_error(std::string("cannot listen on port ") + port);
}

/// Closes each day when it is over. Every copy tries, and tries again if that fails.
void close_days(const std::stop_token& stop, shop::Shop& shop, std::chrono::seconds length) {
  std::mutex mutex;
  std::condition_variable_any never;
  while (!stop.stop_requested()) {
    const auto today = std::chrono::system_clock::now().time_since_epoch() / length;
    try {
      shop.close_day(std::to_string(today - 1));
    } catch (const std::exception& error) {
      std::clog << std::string("closing the day: ") + error.what() + "\n";
    }
    std::unique_lock lock(mutex);
    never.wait_for(lock, stop, length / 4, [] { return false; });
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 6) throw std::invalid_argument("wrong arguments");
  // Before the first thread starts: the signals reach only the thread that waits for them.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);

  shop::Shop shop({.database = argv[3], .redis = argv[4], .partner = argv[5]});
  shop.health();  // a copy that cannot lock does not start
  httplib::Server orders;
  orders.new_task_queue = [] { return new httplib::ThreadPool(16); };
  add_orders(orders, shop);
  listen_at(orders, argv[1]);
  httplib::Server operators;  // answers even if all threads of the other one wait for a lock
  operators.Get("/health", answer([&](const Request&) { return shop.health(); }));
  operators.Get("/metrics", answer([&](const Request&) { return shop.metrics(); }));
  listen_at(operators, argv[2]);

  const std::jthread scrapes([&] { operators.listen_after_bind(); });
  const std::jthread nights([&](const std::stop_token& stop) {
    close_days(stop, shop, std::chrono::seconds(argc > 6 ? std::stoi(argv[6]) : 86'400));
  });
  const std::jthread end([&] {
    int signal = 0;
    sigwait(&ends, &signal);
    shop.stop_waiting();  // first, because the server waits for its requests
    orders.stop();
    operators.stop();
  });
  const bool well = orders.listen_after_bind();
  if (!well) ::kill(::getpid(), SIGTERM);  // for the thread that waits
  return well ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "order_service: " << error.what() << "\n";
  return 1;
}
