// SPDX-License-Identifier: MIT
// Goal: names are resolved without the caller ever waiting. Method: names that need no network; and
// one that does not exist, for which a machine with a dead name server takes its time, and any
// answer will do.
#include "base/resolver.hpp"

#include "model/seed.hpp"
#include "support/eventually.hpp"
#include "support/own_time.hpp"

#include <gtest/gtest.h>

#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <random>
#include <thread>

namespace mortise::base {
namespace {

using namespace std::chrono_literals;

Address host(const std::string& name, std::uint16_t port = 6379) {
  Address address;
  address.host = name;
  address.port = port;
  return address;
}

Address path(const std::string& name) {
  Address address;
  address.path = name;
  return address;
}

bool readable(const Resolver& resolver, std::chrono::milliseconds within = 0ms) {
  pollfd polled{.fd = resolver.descriptor(), .events = POLLIN, .revents = 0};
  return ::poll(&polled, 1, static_cast<int>(within.count())) == 1;
}

std::ptrdiff_t threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

void expect_at_once(Resolver& resolver, const Address& address, const std::string& text) {
  resolver.start(address);
  EXPECT_TRUE(readable(resolver));
  const std::optional<Resolution> found = resolver.take();
  ASSERT_TRUE(found) << text;
  EXPECT_EQ(found->error, "");
  ASSERT_EQ(found->endpoints.size(), 1U) << text;
  EXPECT_EQ(found->endpoints.front().text(), text);
  EXPECT_FALSE(readable(resolver));
  EXPECT_FALSE(resolver.take());
}

TEST(ResolverTest, NumbersAndPathsAreAnsweredAtOnce) {
  Resolver resolver;
  EXPECT_FALSE(resolver.take());
  EXPECT_FALSE(readable(resolver));
  const std::ptrdiff_t before = threads();
  EXPECT_EQ(resolver.descriptor(), -1) << "nobody awaits an answer";
  resolver.start(host("127.0.0.1", 1));
  const int descriptor = resolver.descriptor();
  EXPECT_GE(descriptor, 0);
  for (int i = 0; i < 3; ++i) {
    expect_at_once(resolver, host("127.0.0.1", 1), "127.0.0.1:1");
    expect_at_once(resolver, host("::1"), "[::1]:6379");
    expect_at_once(resolver, host("2001:db8::1", 65535), "[2001:db8::1]:65535");
    expect_at_once(resolver, path("/run/redis/redis.sock"), "/run/redis/redis.sock");
    expect_at_once(resolver, path("/" + std::string(106, 'x')), "/" + std::string(106, 'x'));
  }
  EXPECT_EQ(threads(), before);
  EXPECT_EQ(resolver.descriptor(), descriptor);
  resolver.rest();
  EXPECT_EQ(resolver.descriptor(), -1);
  expect_at_once(resolver, host("127.0.0.1", 1), "127.0.0.1:1");
}

// What it had asked for may still be looked up.
TEST(ResolverTest, OneThatRestsIsAskedAnew) {
  std::mt19937_64 random(model::test_seed());
  for (int round = 0; round < 300; ++round) {
    Resolver resolver;
    resolver.start(host("localhost", 1));
    std::this_thread::sleep_for(std::chrono::nanoseconds(random() % 300'000));
    resolver.rest();
    EXPECT_FALSE(resolver.take());
    resolver.start(host("localhost", 1));
    ASSERT_TRUE(readable(resolver, test::patience));
    const std::optional<Resolution> found = resolver.take();
    ASSERT_TRUE(found);
    ASSERT_FALSE(found->endpoints.empty()) << found->error;
    ASSERT_FALSE(resolver.take());
  }
}

TEST(ResolverTest, APathThatIsTooLongIsAnError) {
  Resolver resolver;
  resolver.start(path("/" + std::string(107, 'x')));
  const std::optional<Resolution> found = resolver.take();
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->endpoints.empty());
  EXPECT_NE(found->error.find("107 bytes"), std::string::npos) << found->error;
  EXPECT_EQ(found->code, Errc::misconfigured);
}

TEST(ResolverTest, LocalhostIsTheLoopback) {
  Resolver resolver;
  resolver.start(host("localhost", 7));
  ASSERT_TRUE(readable(resolver, test::patience));
  const std::optional<Resolution> found = resolver.take();
  ASSERT_TRUE(found);
  ASSERT_FALSE(found->endpoints.empty()) << found->error;
  for (const Endpoint& endpoint : found->endpoints) {
    const std::string text = endpoint.text();
    EXPECT_TRUE(text.starts_with("127.") || text == "[::1]:7") << text;
    EXPECT_TRUE(text.ends_with(":7")) << text;
  }
  EXPECT_FALSE(resolver.take());
}

TEST(ResolverTest, WhatCanNotBeANameIsAnError) {
  Resolver resolver;
  resolver.start(host(std::string(64, 'x') + ".invalid"));  // a label has 63 bytes at most
  ASSERT_TRUE(readable(resolver, test::patience));
  const std::optional<Resolution> found = resolver.take();
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->endpoints.empty());
  EXPECT_TRUE(found->error.starts_with("the name cannot be resolved: ")) << found->error;
}

TEST(ResolverTest, ADeadNameServerBlocksNobody) {
  std::thread([] {}).join();  // a thread sanitizer has one of its own from then on
  const std::ptrdiff_t before = threads();
  auto resolver = std::make_unique<Resolver>();
  const auto start = [&](const char* name) {
    return test::own_duration_of([&] { resolver->start(host(name)); });
  };
  EXPECT_LT(start("no-such-host.invalid"), 50ms);
  EXPECT_LT(start("no-such-host.invalid"), 50ms);
  EXPECT_LT(start("another-host.invalid"), 50ms);
  EXPECT_LE(threads(), before + 2);
  // A number does not wait behind them.
  expect_at_once(*resolver, host("127.0.0.1", 1), "127.0.0.1:1");
  EXPECT_LT(start("no-such-host.invalid"), 50ms);
  EXPECT_LT(test::own_duration_of([&] { resolver.reset(); }), 50ms);
}

// Asked at any moment of the lookup before, whose answer is not taken for this one's.
TEST(ResolverTest, TheAnswerIsThatOfTheLastQuestion) {
  std::mt19937_64 random(model::test_seed());
  for (int round = 0; round < 1'000; ++round) {
    Resolver resolver;
    resolver.start(host("localhost", 1));
    const auto until =
        std::chrono::steady_clock::now() + std::chrono::nanoseconds(random() % 300'000);
    while (std::chrono::steady_clock::now() < until) {
    }
    resolver.start(host("localhost", 2));
    ASSERT_TRUE(readable(resolver, test::patience));
    const std::optional<Resolution> found = resolver.take();
    ASSERT_TRUE(found);
    ASSERT_FALSE(found->endpoints.empty()) << found->error;
    ASSERT_TRUE(found->endpoints.front().text().ends_with(":2"));
    ASSERT_FALSE(resolver.take());
  }
}

TEST(ResolverTest, AForkedChildLetsGoOfIt) {
  Resolver* const resolver = new Resolver;
  resolver->start(host("no-such-host.invalid"));
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);  // where it hangs
    delete resolver;
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  delete resolver;
}

TEST(ResolverTest, WithoutAThreadThereIsAnError) {
  pthread_attr_t before{};
  ASSERT_EQ(::pthread_getattr_default_np(&before), 0);
  pthread_attr_t huge = before;
  // A stack that no address space has room for.
  ASSERT_EQ(::pthread_attr_setstacksize(&huge, std::size_t{1} << 60U), 0);
  ASSERT_EQ(::pthread_setattr_default_np(&huge), 0);
  Resolver resolver;
  resolver.start(host("without-a-thread.invalid"));
  const std::optional<Resolution> none = resolver.take();
  ASSERT_EQ(::pthread_setattr_default_np(&before), 0);
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->error.starts_with("cannot start a thread")) << none->error;
  EXPECT_EQ(none->code, Errc::exhausted);
  resolver.start(host("localhost"));
  EXPECT_TRUE(readable(resolver, test::patience));
  EXPECT_FALSE(resolver.take()->endpoints.empty());
}

}  // namespace
}  // namespace mortise::base
