// SPDX-License-Identifier: MIT
// The order service on one event loop of Boost.Asio: any number of requests can wait at the same
// time, and the number of threads stays the same. It has the arguments, routes and answers of
// main.cpp.
// usage: order_service_asio PORT OPERATORS_PORT POSTGRES_URL REDIS_URL PARTNER [SECONDS_OF_A_DAY]
#include "async_shop.hpp"

#include <boost/beast.hpp>
#include <chrono>
#include <csignal>
#include <exception>
#include <functional>
#include <iostream>
#include <regex>
#include <sstream>
#include <string>
#include <utility>

namespace {

using namespace std::chrono_literals;
namespace http = boost::beast::http;
namespace net = boost::asio;
using net::use_awaitable;
using net::ip::tcp;
using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;
using Answer = std::function<net::awaitable<std::string>(const Request&)>;

std::string decoded(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      out += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

std::string field(const Request& request, const std::string& name) {
  std::istringstream form(request.body());
  for (std::string part; std::getline(form, part, '&');) {
    if (part.starts_with(name + "=")) return decoded(part.substr(name.size() + 1));
  }
  return {};
}

int number(const Request& request, const char* name) {
  const int value = std::stoi(field(request, name));
  if (value <= 0) throw std::out_of_range(name);
  return value;
}

net::awaitable<std::string> answer_to_sender(shop::AsyncShop& shop, const Request& request) {
  static const std::regex shipment(R"(/orders/(\d+)/ship)");
  static const std::regex stock(R"(/stock/(\w+))");
  const std::string path(request.target());
  std::smatch found;
  if (request.method() == http::verb::get) {
    if (std::regex_match(path, found, stock)) return shop.stock(found[1]);
  } else if (path == "/orders") {
    return shop.order({std::string(request["Idempotency-Key"]), field(request, "item"),
                       number(request, "quantity"), number(request, "amount")});
  } else if (path == "/transfers") {
    return shop.transfer(field(request, "from"), field(request, "to"), number(request, "amount"));
  } else if (std::regex_match(path, found, shipment)) {
    return shop.ship(found[1]);
  }
  throw shop::Refused(404, "no such page");
}

net::awaitable<std::string> answer_to_operator(shop::AsyncShop& shop, const Request& request) {
  if (request.target() == "/health") return shop.health();
  if (request.target() == "/metrics") return shop.metrics();
  throw shop::Refused(404, "no such page");
}

void explain(const Request& request, Response& response, const std::exception_ptr& error) {
  const shop::Refused refused = shop::refusal_of(error);
  response.result(static_cast<unsigned>(refused.status));
  response.body() = refused.what();
  if (refused.status < 500) return;
  std::clog << std::string(request.target()) + ": " + response.body() + "\n";
}

/// One request per connection.
net::awaitable<void> serve(tcp::socket socket, Answer answer) {
  boost::beast::tcp_stream sender(std::move(socket));
  boost::beast::flat_buffer buffer;
  Request request;
  sender.expires_after(5s);
  co_await http::async_read(sender, buffer, request, use_awaitable);
  sender.expires_never();
  Response response;
  try {
    response.body() = co_await answer(request);
  } catch (...) {
    explain(request, response, std::current_exception());
  }
  response.set(http::field::content_type, "text/plain");
  response.keep_alive(false);
  response.prepare_payload();
  sender.expires_after(5s);
  co_await http::async_write(sender, response, use_awaitable);
  sender.socket().shutdown(tcp::socket::shutdown_send);
}

net::awaitable<void> listen(tcp::acceptor& acceptor, Answer answer) {
  while (acceptor.is_open()) {
    boost::system::error_code error;
    tcp::socket socket = co_await acceptor.async_accept(net::redirect_error(use_awaitable, error));
    if (!error)
      net::co_spawn(acceptor.get_executor(), serve(std::move(socket), answer), net::detached);
  }
}

/// Closes each day when it is over. Every copy tries, and tries again if that fails.
net::awaitable<void> close_days(shop::AsyncShop& shop, net::steady_timer& night, const bool& stops,
                                std::chrono::seconds length) {
  while (!stops) {
    const auto today = std::chrono::system_clock::now().time_since_epoch() / length;
    try {
      co_await shop.close_day(std::to_string(today - 1));
    } catch (const std::exception& error) {
      std::clog << std::string("closing the day: ") + error.what() + "\n";
    }
    if (stops) co_return;
    boost::system::error_code cancelled;
    night.expires_after(length / 4);
    co_await night.async_wait(net::redirect_error(use_awaitable, cancelled));
  }
}

tcp::acceptor acceptor_at(net::io_context& io, const char* port) {
  const auto number = static_cast<unsigned short>(std::stoi(port));
  return {io, {net::ip::address_v4::loopback(), number}};
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 6) throw std::invalid_argument("wrong arguments");
  net::io_context io(1);
  shop::Shop shop({.database = argv[3], .redis = argv[4], .partner = argv[5]});
  shop.health();  // a copy that cannot lock does not start
  shop::AsyncShop async(shop);
  tcp::acceptor orders = acceptor_at(io, argv[1]);
  tcp::acceptor operators = acceptor_at(io, argv[2]);
  net::steady_timer night(io);
  bool stops = false;
  net::signal_set ends(io, SIGTERM, SIGINT);
  ends.async_wait([&](boost::system::error_code, int) {
    stops = true;
    shop.stop_waiting();
    orders.close();
    operators.close();
    night.cancel();
  });
  const auto to_sender = [&](const Request& request) { return answer_to_sender(async, request); };
  const auto to_operator = [&](const Request& request) {
    return answer_to_operator(async, request);
  };
  const std::chrono::seconds day(argc > 6 ? std::stoi(argv[6]) : 86'400);
  net::co_spawn(io, listen(orders, to_sender), net::detached);
  net::co_spawn(io, listen(operators, to_operator), net::detached);
  net::co_spawn(io, close_days(async, night, stops, day), net::detached);
  io.run();  // until the last request has its answer
  return 0;
} catch (const std::exception& error) {
  std::cerr << "order_service_asio: " << error.what() << "\n";
  return 1;
}
