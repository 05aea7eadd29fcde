// SPDX-License-Identifier: MIT
// Goal: the protected resource is a trustworthy witness. It refuses older tokens, counts and logs
// what it did, and outlives its clients; and its unfenced mode does not, so that a test which uses
// it as negative control can fail. Method: the real process, real clients, some of them killed.
#include "model/resource.hpp"

#include "model/history.hpp"
#include "model/seed.hpp"
#include "model/temporary.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace mortise::model {
namespace {

using namespace std::chrono_literals;

class Resource : public ::testing::Test {
 protected:
  ResourceProcess& start(ResourceProcess::Options options = {}) {
    resource_ = std::make_unique<ResourceProcess>(MORTISE_BIN_DIR, directory_.path(), options);
    return *resource_;
  }
  const std::string& where() const { return directory_.path(); }

  // Clients leave without a word, so the server learns of it a moment later.
  bool has_clients(std::uint64_t count) {
    const std::int64_t deadline = monotonic_ns() + 20'000'000'000;
    while (resource_->statistics().clients != count && monotonic_ns() < deadline) {
      std::this_thread::yield();
    }
    return resource_->statistics().clients == count;
  }

 private:
  TemporaryDirectory directory_;
  std::unique_ptr<ResourceProcess> resource_;
};

TEST_F(Resource, RefusesATokenBelowTheHighestOfItsName) {
  ResourceProcess& resource = start();
  ResourceClient client(where());
  EXPECT_EQ(client.read(1), 0U);

  EXPECT_TRUE(client.write(1, 10, 100).accepted);
  EXPECT_TRUE(client.write(1, 10, 101).accepted) << "the same holder writes again";
  EXPECT_TRUE(client.write(1, 12, 102).accepted);
  const ResourceClient::Written stale = client.write(1, 11, 666);
  EXPECT_FALSE(stale.accepted);
  EXPECT_EQ(stale.highest, 12U);
  EXPECT_EQ(stale.value, 102U);
  EXPECT_EQ(client.read(1), 102U);
  EXPECT_TRUE(client.write(2, 1, 200).accepted) << "another name has its own tokens";

  const ResourceStatistics statistics = resource.statistics();
  EXPECT_EQ(statistics.accepted, 4U);
  EXPECT_EQ(statistics.refused, 1U);
  EXPECT_EQ(statistics.stale, 1U);
  EXPECT_EQ(statistics.names, 2U);
  const std::vector<AcceptedWrite> log = resource.log();
  ASSERT_EQ(log.size(), 4U);
  EXPECT_EQ(log[2].token, 12U);
  EXPECT_EQ(log[2].value, 102U);
  EXPECT_EQ(first_stale(log), log.size());
  EXPECT_TRUE(resource.stop());
}

TEST_F(Resource, TakesEverythingWhenUnfencedAndItsLogShowsIt) {
  ResourceProcess& resource = start({.fenced = false});
  ResourceClient client(where());
  EXPECT_TRUE(client.write(1, 12, 1).accepted);
  EXPECT_TRUE(client.write(2, 5, 1).accepted);
  EXPECT_TRUE(client.write(1, 11, 2).accepted);
  EXPECT_EQ(resource.statistics().stale, 1U);
  EXPECT_EQ(resource.statistics().refused, 0U);
  EXPECT_EQ(first_stale(resource.log()), 2U);
}

TEST_F(Resource, LogsWritesOfManyProcessesInOrder) {
  ResourceProcess& resource = start();
  const std::uint64_t seed = test_seed();
  constexpr std::uint64_t writes = 500;
  std::vector<Process> clients;
  for (std::uint64_t process = 0; process < 4; ++process) {
    clients.push_back(Process::fork_child([&, process] {
      ResourceClient client(where());
      std::mt19937_64 random(seed + process);
      std::uint64_t highest = 0;
      for (std::uint64_t i = 0; i < writes; ++i) {
        // Around the highest token it knows of: some of these are stale by the time they arrive.
        const ResourceClient::Written written = client.write(0, highest + random() % 4, i);
        if (written.highest < highest) {
          return 1;
        }
        highest = written.highest;
      }
      return 0;
    }));
  }
  for (Process& client : clients) {
    const std::optional<Exit> exit = client.wait_for(20s);
    ASSERT_TRUE(exit.has_value());
    EXPECT_EQ(exit->code, 0);
  }
  const ResourceStatistics statistics = resource.statistics();
  const std::vector<AcceptedWrite> log = resource.log();
  EXPECT_EQ(statistics.accepted + statistics.refused, 4 * writes);
  EXPECT_EQ(log.size(), statistics.accepted);
  EXPECT_EQ(first_stale(log), log.size());
  std::cout << statistics.accepted << " accepted, " << statistics.refused << " refused\n";
}

TEST_F(Resource, OutlivesClientsThatAreKilledOrStopped) {
  ResourceProcess& resource = start();
  std::vector<Process> clients;
  clients.reserve(3);
  for (int process = 0; process < 3; ++process) {
    clients.push_back(Process::fork_child([&] {
      ResourceClient client(where());
      for (std::uint64_t token = 1;; ++token) {
        client.write(0, token, token);
      }
      return 0;
    }));
  }
  const std::int64_t deadline = monotonic_ns() + 20'000'000'000;
  while (resource.statistics().accepted < 1'000 && monotonic_ns() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_GE(resource.statistics().accepted, 1'000U);
  ASSERT_TRUE(clients[0].stop());
  clients[1].kill();
  clients[2].kill();
  EXPECT_TRUE(has_clients(2)) << "the stopped one and the test's own";
  ResourceClient client(where());
  EXPECT_TRUE(client.write(0, 1'000'000'000, 7).accepted);
  clients[0].kill();
  EXPECT_EQ(client.read(0), 7U);
  EXPECT_TRUE(resource.stop());
}

TEST_F(Resource, DropsAClientThatTalksNonsense) {
  start();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = where() + "/" + wire::socket_name;
  ASSERT_LT(path.size(), sizeof(address.sun_path));
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  for (const std::size_t size : {std::size_t{1}, std::size_t{100}}) {
    const int raw = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    ASSERT_EQ(::connect(raw, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    const std::string nonsense(size, '\xff');
    EXPECT_EQ(::send(raw, nonsense.data(), nonsense.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(size));
    char byte = 0;
    EXPECT_LE(::recv(raw, &byte, 1, 0), 0) << "dropped, not answered";
    ::close(raw);
  }
  EXPECT_TRUE(has_clients(1));
  EXPECT_TRUE(ResourceClient(where()).write(0, 1, 1).accepted);
}

TEST_F(Resource, AcceptsNoMoreThanItCanLog) {
  ResourceProcess& resource = start({.log_limit = 3});
  ResourceClient client(where());
  for (std::uint64_t token = 1; token <= 3; ++token) {
    EXPECT_TRUE(client.write(0, token, token).accepted);
  }
  EXPECT_THROW(client.write(0, 4, 4), ResourceError);
  EXPECT_EQ(client.read(0), 3U);
  EXPECT_EQ(resource.log().size(), 3U);
}

TEST_F(Resource, IsReportedWhenItDies) {
  ResourceProcess& resource = start();
  ResourceClient client(where());
  EXPECT_TRUE(client.write(0, 1, 1).accepted);
  resource.process().kill();
  EXPECT_THROW(client.write(0, 2, 2), ResourceError);
  EXPECT_THROW(client.write(0, 3, 3), ResourceError) << "and stays so";
  EXPECT_FALSE(resource.stop());
}

TEST_F(Resource, SaysWhyItCannotStart) {
  const auto message = [](const std::string& binaries, const std::string& directory) {
    try {
      const ResourceProcess resource(binaries, directory);
    } catch (const ResourceError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_NE(message("/no/such", where()).find("/no/such/mortise_resource"), std::string::npos);
  EXPECT_NE(message("/no/such", where()).find("code 127"), std::string::npos);
  EXPECT_NE(message(MORTISE_BIN_DIR, where() + "/missing").find("code 1"), std::string::npos);
  EXPECT_THROW(ResourceClient(where() + "/missing"), ResourceError);
  EXPECT_THROW(ResourceClient(std::string(200, 'x')), ResourceError);
}

}  // namespace
}  // namespace mortise::model
