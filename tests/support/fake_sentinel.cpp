// SPDX-License-Identifier: MIT
#include "support/fake_sentinel.hpp"

#include <utility>

namespace mortise::test {

void FakeSentinel::name(std::uint16_t port, std::uint64_t epoch) {
  const std::string number = std::to_string(epoch);
  const std::string text = std::to_string(port);
  say("*4\r\n$4\r\nname\r\n$8\r\nmymaster\r\n$12\r\nconfig-epoch\r\n$" +
      std::to_string(number.size()) + "\r\n" + number + "\r\n*2\r\n$9\r\n127.0.0.1\r\n$" +
      std::to_string(text.size()) + "\r\n" + text + "\r\n");
}

void FakeSentinel::say(std::string bytes) {
  const std::lock_guard lock(mutex_);
  bytes_ = std::move(bytes);
}

FakeServer::Answer FakeSentinel::answer(std::string_view received) {
  const std::lock_guard lock(mutex_);
  heard_.append(received);
  asked_.fetch_add(1);
  return {.bytes = bytes_, .hangs_up = hangs_up_.load()};
}

}  // namespace mortise::test
