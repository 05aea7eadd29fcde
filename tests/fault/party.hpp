// SPDX-License-Identifier: MIT
// Who takes part in a fault test, whatever the backend: clients with threads of their own, and what
// such a test asks of them.
#pragma once

#include <mortise/mortise.hpp>

#include "support/contract_observer.hpp"
#include "support/contract_worker.hpp"
#include "support/eventually.hpp"
#include "support/own_time.hpp"
#include "support/taken_within.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>

namespace mortise::fault {

using namespace std::chrono_literals;
using contract::Record;
using contract::Worker;
using test::answer_time;
using test::comes;
using test::comes_within;
using test::duration_of;
using test::eventually;
using test::happens_within;
using test::least_duration_of;
using test::own_duration_of;
using test::patience;
using test::taken_within;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// What timed calls may add to their time, and what a loaded machine may add to that.
inline constexpr std::chrono::milliseconds allowance{50};
inline constexpr std::chrono::milliseconds slack{100};

/// A client that is let go at the end whatever happens, and what its one thread does with the name.
class Party {
 public:
  Party(Client client, const std::string& name, const LockOptions& options = {})
      : client_(std::move(client)), lock_(client_.make_lock(name, options)) {}
  Party(const Party&) = delete;
  Party& operator=(const Party&) = delete;
  /// Ends its wait, where a test that has failed leaves it waiting.
  ~Party() { client_.close(); }

  [[nodiscard]] Client& client() { return client_; }
  [[nodiscard]] Lock& lock() { return lock_; }
  /// Takes the name in a thread of its own, without end. @return its token
  [[nodiscard]] std::future<Token> start() {
    return worker_.start([this] {
      lock_.lock();
      return lock_.token();
    });
  }
  /// Does it by the thread that `start()` took it with.
  template <class Task>
  auto run(Task task) {
    return worker_.run(std::move(task));
  }
  [[nodiscard]] Released release() {
    return run([this] { return lock_.release(); });
  }
  [[nodiscard]] Worker& worker() { return worker_; }

 private:
  Client client_;
  Lock lock_;
  Worker worker_;
};

/// @return what the call throws; clear where it throws nothing of the library's.
template <class Callable>
[[nodiscard]] Failure failure_of(Callable call) {
  try {
    call();
  } catch (const Error& error) {
    return {error.errc(), error.what()};
  }
  return {};
}

}  // namespace mortise::fault
