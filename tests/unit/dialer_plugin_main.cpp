// SPDX-License-Identifier: MIT
// A shared object that is unloaded while a connector in it hangs: see remote_dialer_test.cpp.
#include "remote/dialer.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

/// @param step 1: the connector hangs, until that is 2; 3: it has ended
extern "C" [[gnu::visibility("default")]] void begin(std::atomic<int>* step) {
  struct Ends {
    std::atomic<int>& step;
    ~Ends() { step = 3; }
  };
  mortise::remote::Dialer dialer(
      std::make_shared<const mortise::Connector>([step](const std::string&, std::uint16_t) {
        const Ends ends{*step};
        *step = 1;
        while (*step != 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return -1;
      }),
      {.host = "anywhere", .port = 1, .path = {}});
  dialer.start();
  while (*step == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}
