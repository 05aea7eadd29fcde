// SPDX-License-Identifier: MIT
// Goal: an observer may destroy the handle of a key whose call it is told of, also where that call
// goes on. Method: a clock by which another caller of the process comes in between, an observer
// that destroys, and bytes that no handle has in its place.
#include <mortise/memory.hpp>
#include <mortise/mortise.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <thread>
#include <utility>

namespace mortise {
namespace {

using namespace std::chrono_literals;

/// Does something once, at the second look of one thread.
class BusyClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const noexcept override {
    if (meanwhile && std::this_thread::get_id() == whose && ++looks == 2) {
      std::exchange(meanwhile, nullptr)();
    }
    return BootClock::now();
  }

  std::thread::id whose = std::this_thread::get_id();
  mutable std::function<void()> meanwhile;
  mutable int looks = 0;
};

class Destroyer final : public Observer {
 public:
  void contended(const Event& /*event*/) noexcept override {
    Once* const destroyed = std::exchange(once, nullptr);
    if (destroyed == nullptr) return;
    destroyed->~Once();
    std::memset(static_cast<void*>(destroyed), 0x7f, sizeof(Once));
  }
  Once* once = nullptr;
};

TEST(OnceHandle, MayBeDestroyedByAnObserverWhileItIsAsked) {
  memory::Server server;
  const auto clock = std::make_shared<BusyClock>();
  const auto observer = std::make_shared<Destroyer>();
  Client client(server.backend(), {.observer = observer, .clock = clock});
  alignas(Once) std::array<std::byte, sizeof(Once)> room{};
  Once* const once = ::new (room.data()) Once(client.make_once("key", {.wait = 0ms}));
  observer->once = once;
  mortise::Run theirs;
  clock->meanwhile = [&] { std::thread([&] { theirs = client.make_once("key").begin(); }).join(); };
  std::error_code why;
  const mortise::Run mine = once->begin(why);
  EXPECT_EQ(observer->once, nullptr) << "it was not told";
  EXPECT_TRUE(theirs);
  EXPECT_FALSE(mine);
  EXPECT_FALSE(why) << why.message();
  EXPECT_EQ(mine.outcome().state(), KeyState::pending);
}

}  // namespace
}  // namespace mortise
