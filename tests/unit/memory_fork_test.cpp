// SPDX-License-Identifier: MIT
// Goal: a forked child that names a memory server has one of its own: whoever was inside of its
// parent's when it was forked holds a mutex there for ever. Method: a try of a lock that the parent
// holds, without the library around it, since that has threads.
#include <mortise/memory.hpp>

#include "model/process.hpp"
#include "support/eventually.hpp"
#include "support/fake_host.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace mortise::memory {
namespace {

using namespace std::chrono_literals;

/// A client of the server with that name.
class Side {
 public:
  explicit Side(std::uint64_t number) : number_(number) { backend_->start(host_); }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;
  ~Side() { backend_->stop(); }
  [[nodiscard]] bool takes() {
    const auto operation = std::make_shared<Acquisition>(Acquisition::Request{
        .attempt = {1, number_, 1}, .name = "a", .lease = 30s, .label = {}, .wait = false});
    backend_->acquire(operation);
    return operation->done() && operation->grant().number != 0;
  }

 private:
  const std::uint64_t number_;
  test::FakeHost host_;
  const std::unique_ptr<Backend> backend_ = backend("memory:named");
};

// Promise: S9
TEST(MemoryFork, AChildHasServersOfItsOwn) {
  Side mine(1);
  ASSERT_TRUE(mine.takes());
  model::Process child = model::Process::fork_child([] { return Side(2).takes() ? 0 : 1; });
  const auto exit = child.wait_for(test::patience);
  ASSERT_TRUE(exit) << "it hangs";
  EXPECT_EQ(exit->code, 0) << "it sees its parent's holder";
  EXPECT_FALSE(Side(3).takes()) << "in one process it is one server";
}

}  // namespace
}  // namespace mortise::memory
