// SPDX-License-Identifier: MIT
// Goal: a name of a URL leads to one store while a client has it, and costs nothing afterwards.
// Method: references to stores, given up.
#include "memory/named_stores.hpp"
#include "memory/store.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace mortise::memory {
namespace {

TEST(MemoryNamedStores, OneNameIsOneStoreWhileItIsInUse) {
  NamedStores stores;
  const std::shared_ptr<Store> one = stores.get("a");
  EXPECT_EQ(stores.get("a"), one);
  EXPECT_NE(stores.get("b"), one);
  EXPECT_EQ(stores.get("a"), one);
}

TEST(MemoryNamedStores, AStoreThatNoClientRefersToIsFreed) {
  NamedStores stores;
  const std::shared_ptr<Store> kept = stores.get("kept");
  for (int i = 0; i < 100; ++i) {
    const std::shared_ptr<Store> store = stores.get("name " + std::to_string(i));
    EXPECT_EQ(stores.size(), 2U);
  }
  EXPECT_EQ(stores.size(), 1U);
  EXPECT_EQ(stores.get("kept"), kept);
}

}  // namespace
}  // namespace mortise::memory
