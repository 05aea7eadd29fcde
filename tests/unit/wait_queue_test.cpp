// SPDX-License-Identifier: MIT
// Goal: waiters leave and are found in order of arrival (L5). Method: random operations on a queue
// and on a plain vector.
#include "core/waiter.hpp"
#include "model/dice.hpp"
#include "model/seed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <vector>

namespace mortise::core {
namespace {

std::shared_ptr<const Terms> terms_of(Mode mode) {
  return std::make_shared<Terms>(
      Terms{.lease = std::chrono::seconds(30), .label = "", .mode = mode});
}

auto wants(bool shared) {
  return [shared](const Waiter& waiter) { return waiter.shares() == shared; };
}

TEST(WaitQueue, IsAVectorThatFindsOwnersInOrder) {
  const std::shared_ptr<const Terms> terms[] = {terms_of(Mode::exclusive), terms_of(Mode::shared)};
  model::Dice random(model::test_seed());
  for (const std::size_t longest : {3U, 20U, 300U}) {
    WaitQueue queue;
    std::vector<Waiter*> model;
    std::deque<Waiter> waiters;
    std::vector<Owner> owners;
    for (int i = 0; i < 20; ++i) owners.push_back(Owner::unique());
    for (int step = 0; step < 3000; ++step) {
      const Owner owner = owners[random.below(static_cast<std::uint32_t>(owners.size()))];
      const bool shared = random.below(2) == 0;
      switch (random.below(model.size() < longest ? 4 : 3)) {
        case 0: {
          if (model.empty()) break;
          const auto which =
              model.begin() +
              static_cast<std::ptrdiff_t>(random.below(static_cast<std::uint32_t>(model.size())));
          queue.remove(**which);
          queue.remove(**which);  // without effect
          model.erase(which);
          break;
        }
        case 1: {
          const auto found = std::find_if(model.begin(), model.end(), [&](const Waiter* each) {
            return each->owner == owner && (each->terms->mode == Mode::shared) == shared;
          });
          ASSERT_EQ(queue.find(owner, wants(shared)), found == model.end() ? nullptr : *found);
          break;
        }
        case 2: {
          if (random.below(50) != 0) break;
          const auto matches = [&](const Waiter& each) { return each.owner == owner; };
          queue.remove_if(matches);
          std::erase_if(model, [&](const Waiter* each) { return matches(*each); });
          break;
        }
        default: {
          Waiter& waiter =
              waiters.emplace_back(Waiter{.owner = owner, .terms = terms[shared ? 1 : 0]});
          queue.push_back(waiter);
          model.push_back(&waiter);
          break;
        }
      }
      ASSERT_EQ(queue.size(), model.size());
      ASSERT_EQ(queue.empty(), model.empty());
      ASSERT_EQ(queue.front(), model.empty() ? nullptr : model.front());
      ASSERT_TRUE(std::equal(model.begin(), model.end(), queue.begin()));
    }
  }
}

}  // namespace
}  // namespace mortise::core
