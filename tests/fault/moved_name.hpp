// SPDX-License-Identifier: MIT
// A host name that moves from one address of a server to another one, while the server goes on at
// both: nothing but the name says that other clients use another server by now.
#pragma once

#include "base/name_lookups.hpp"
#include "fault/party.hpp"
#include "model/process.hpp"
#include "model/temporary.hpp"
#include "remote/name_watch.hpp"
#include "support/contract_process.hpp"
#include "support/private_names.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace mortise::fault {

/// Lives in a child process, which has a file of hosts and a clock of its own.
/// @thread_safety one thread at a time
class MovedName {
 public:
  static constexpr const char* name = "moving.example";
  static constexpr const char* old_address = "127.0.0.2";
  static constexpr const char* new_address = "127.0.0.3";

  /// How the child ends: the step that failed.
  enum Step : int { followed = 0, connects = 1, asks = 2, stays = 3, leaves = 4, arrives = 5 };

  /// @param port of the server, at both addresses
  MovedName(std::string hosts_file, std::uint16_t port)
      : port_(port), hosts_(std::move(hosts_file), line_of(old_address)) {}

  [[nodiscard]] bool works() const noexcept { return hosts_.works(); }

  /// Opens a client of the URL, moves the name, and looks at where the client is connected.
  [[nodiscard]] Step follow(const std::string& url) {
    Client mine(url, {.clock = clock_});
    mine.check(patience);
    if (!eventually([&] { return connections_to(old_address) > 0; })) return connects;
    // As long as the name stays, so does the connection.
    for (int lookup = 0; lookup < 10; ++lookup) {
      if (!looks_up()) return asks;
      mine.check(patience);
      if (connections_to(old_address) == 0) return stays;
    }
    hosts_.write(line_of(new_address));
    const bool left = eventually([&] { return looks_up() && connections_to(old_address) == 0; });
    if (!left) return leaves;
    const bool arrived = eventually([&] {
      mine.check(patience);
      return connections_to(new_address) > 0;
    });
    return arrived ? followed : arrives;
  }

 private:
  [[nodiscard]] static std::string line_of(const char* address) {
    return std::string(address) + ' ' + name + '\n';
  }
  /// Has the client ask for the name once more, and hands it the answer. A client that has left
  /// does not ask any more. @return whether it asked, or has left
  [[nodiscard]] bool looks_up() {
    hosts_.forget_reads();
    // It does not ask while it has not fetched the answer before: then it asks after the next step.
    const bool asked = eventually([&] {
      clock_->advance(remote::NameWatch::interval * 5 / 4);
      return eventually([&] { return hosts_.were_read() || connections_to(old_address) == 0; },
                        200ms);
    });
    // This question joins the lookup of the client, and is answered after it.
    base::NameQuestion behind(base::NameLookups::of_process());
    behind.ask(name, -1);
    const bool answered = eventually([&] { return behind.take().has_value(); });
    clock_->advance(remote::NameWatch::answered_in);
    return asked && answered;
  }
  /// @return how many connections of this machine lead there, as the kernel lists them.
  [[nodiscard]] std::size_t connections_to(const char* address) const {
    constexpr unsigned established = 1;
    in_addr number{};
    ::inet_pton(AF_INET, address, &number);
    std::ifstream table("/proc/net/tcp");
    std::string line;
    std::size_t count = 0;
    while (std::getline(table, line)) {
      unsigned remote = 0;
      unsigned port = 0;
      unsigned state = 0;
      if (std::sscanf(line.c_str(), "%*d: %*x:%*x %x:%x %x", &remote, &port, &state) == 3 &&
          remote == number.s_addr && port == port_ && state == established) {
        ++count;
      }
    }
    return count;
  }

  const std::uint16_t port_;
  test::PrivateHosts hosts_;
  const std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  // The time passes by itself as well, so that what waits for an answer of a server is in time.
  std::jthread ticks_{[this](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      clock_->advance(1ms);
      std::this_thread::sleep_for(1ms);
    }
  }};
};

/// Expects a client of the URL, whose server `MovedName::name` is, to follow that name.
inline void expect_to_follow(const std::string& url, std::uint16_t port) {
  const model::TemporaryDirectory directory;
  model::Process child = model::Process::fork_child([&] {
    MovedName moved(directory.file("hosts"), port);
    return moved.works() ? static_cast<int>(moved.follow(url)) : test::no_name_spaces;
  });
  const auto exit = child.wait_for(5min);
  ASSERT_TRUE(exit) << "it hangs";
  if (exit->code == test::no_name_spaces) GTEST_SKIP() << "name spaces of its own need rights";
  EXPECT_EQ(exit->code, MovedName::followed)
      << "1: it does not connect; 2: it does not ask for the name; 3: it leaves a name that stays; "
         "4: it does not leave the old address; 5: it does not arrive at the new one";
}

}  // namespace mortise::fault
