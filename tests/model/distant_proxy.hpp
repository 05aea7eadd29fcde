// SPDX-License-Identifier: MIT
// A bad network (support/proxy.hpp) in a process of its own: a test that forks its clients, again
// and again, may have no second thread, and the network must not stand still with any of them.
#pragma once

#include "model/process.hpp"
#include "support/proxy.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

namespace mortise::model {

// Made while this process has one thread. Not thread-safe.
class DistantProxy {
 public:
  DistantProxy(std::uint16_t target_port, std::uint64_t seed,
               test::ProxyProtocol protocol = test::ProxyProtocol::redis);
  DistantProxy(const DistantProxy&) = delete;
  DistantProxy& operator=(const DistantProxy&) = delete;
  ~DistantProxy();

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] std::string url() const;  // of a Redis

  // Has `order` called with the Proxy, there, and returns when it is in force, with what it
  // returned. It takes nothing with it but a few values.
  template <class Order>
  std::uint64_t tell(Order order) const {
    static_assert(std::is_trivially_copyable_v<Order> && sizeof(Order) <= most_values);
    Letter letter;
    letter.read = &read<Order>;
    std::memcpy(letter.order.data(), &order, sizeof order);
    return deliver(letter);
  }

 private:
  static constexpr std::size_t most_values = 64;

  // The other process is a fork of this one: code has the same address there.
  struct Letter {
    std::uint64_t (*read)(test::Proxy&, const std::byte*) = nullptr;
    std::array<std::byte, most_values> order{};
  };

  template <class Order>
  static std::uint64_t read(test::Proxy& proxy, const std::byte* bytes) {
    std::array<std::byte, sizeof(Order)> values;
    std::memcpy(values.data(), bytes, sizeof values);
    const auto order = std::bit_cast<Order>(values);
    if constexpr (std::is_void_v<std::invoke_result_t<const Order&, test::Proxy&>>) {
      order(proxy);
      return 0;
    } else {
      return order(proxy);
    }
  }

  std::uint64_t deliver(const Letter& letter) const;
  [[nodiscard]] std::uint64_t answer() const;
  static int serve(int line, std::uint16_t target_port, const test::ProxyOptions& options);

  int line_ = -1;
  std::uint16_t port_ = 0;
  Process process_;
};

}  // namespace mortise::model
