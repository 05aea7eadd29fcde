// SPDX-License-Identifier: MIT
// Goal: close() keeps its time (L4), whoever still waits in a call that no lock is behind. Method:
// a server that takes connections and never says a word, a check() with a long time, and close().
#include "fault/party.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <thread>

namespace mortise::fault {
namespace {

/// The kernel accepts for it, and nobody ever answers.
class MuteServer {
 public:
  MuteServer() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr any{};
    std::memcpy(&any, &address, sizeof any);
    EXPECT_EQ(::bind(socket_, &any, sizeof any), 0);
    EXPECT_EQ(::listen(socket_, 16), 0);
    socklen_t size = sizeof any;
    EXPECT_EQ(::getsockname(socket_, &any, &size), 0);
    std::memcpy(&address, &any, sizeof address);
    port_ = ntohs(address.sin_port);
  }
  ~MuteServer() { ::close(socket_); }
  MuteServer(const MuteServer&) = delete;
  MuteServer& operator=(const MuteServer&) = delete;
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  int socket_;
  int port_ = 0;
};

void expect_to_close_in_time(const std::string& url) {
  SCOPED_TRACE(url);
  Client client(url);
  std::error_code ec;
  std::atomic<bool> checks{false};
  std::thread caller([&] {
    checks.store(true);
    client.check(20s, ec);
  });
  ASSERT_TRUE(eventually([&] { return checks.load(); }));
  std::this_thread::sleep_for(50ms);  // it waits for an answer, as a rule: whatever it does counts
  EXPECT_LT(own_duration_of([&] { client.close(); }), 2s);
  caller.join();
  EXPECT_EQ(ec, Errc::closed);
}

TEST(CloseDuringCheck, KeepsItsTime) {
  const MuteServer server;
  expect_to_close_in_time("redis://" + server.address());
  expect_to_close_in_time("postgresql://user@" + server.address() + "/orders?sslmode=disable");
}

}  // namespace
}  // namespace mortise::fault
