// SPDX-License-Identifier: MIT
#include "worker.hpp"

#include <mortise/mortise.hpp>

#include <fcntl.h>
#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <iostream>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace shop {
namespace {

using namespace std::chrono_literals;

// The bank is slow, and charges a payment again if it is asked again.
std::string charge(const std::string& ledger, const std::string& payment) {
  static std::atomic<int> charges{0};
  std::this_thread::sleep_for(5ms);
  const std::string line = payment + "\n";
  const int file = ::open(ledger.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  const bool written = ::write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  ::close(file);
  if (!written) throw std::runtime_error("the bank is out of reach");
  return "receipt " + std::to_string(::getpid()) + "/" + std::to_string(++charges) + ": " + payment;
}

// [submission]
void take_payment(mortise::Client& client, const std::string& ledger,
                  const httplib::Request& request, httplib::Response& response) {
  const std::string key = request.get_header_value(key_header);
  if (key.empty()) {
    response.status = 400;
    return;
  }
  mortise::Once payment = client.make_once(
      "payment/" + key, {.keep = 24h, .fingerprint = request.body.substr(0, 128), .wait = 10s});
  std::error_code error;
  const mortise::Outcome outcome = payment.run([&] { return charge(ledger, request.body); }, error);
  if (outcome.state() == mortise::KeyState::succeeded) {
    if (outcome.replayed()) response.set_header(replayed_header, "true");
    response.set_content(outcome.result(), "text/plain");
  } else if (error == mortise::Errc::mismatch) {
    response.status = 422;
  } else if (outcome.state() == mortise::KeyState::pending) {
    response.status = 409;
  } else {
    response.status = 503;
  }
}
// [/submission]

}  // namespace

int serve(const std::string& url, const std::string& ledger) {
  mortise::Client client(url);
  httplib::Server server;
  server.Post("/payments", [&](const httplib::Request& request, httplib::Response& response) {
    take_payment(client, ledger, request, response);
  });
  server.set_exception_handler([](const httplib::Request&, httplib::Response& response,
                                  std::exception_ptr) { response.status = 503; });
  int listening = -1;
  server.set_socket_options([&](int socket) { listening = socket; });
  const int port = server.bind_to_any_port("127.0.0.1");
  ::listen(listening, SOMAXCONN);  // with cpp-httplib's backlog of five, callers would be reset
  std::cout << port << std::endl;
  return server.listen_after_bind() ? 0 : 1;
}

}  // namespace shop
