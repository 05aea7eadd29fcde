// SPDX-License-Identifier: MIT
// Suites that run on several grounds, as the contract does on each backend. A test names the traits
// that it needs of a ground, and on a ground without them there is no such test: a test that is
// listed can be run, and one that is skipped lacks something of the machine. gtest's own
// INSTANTIATE_TEST_SUITE_P cannot do that: it makes every test of a suite for every parameter.
//
// A ground is any copyable type with `Need`, the type of a trait, `has(need)`, and a name_of()
// beside it. A test's name is, as gtest would have it, "<prefix>/<suite>.<test>/<name>".
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

namespace mortise::test {

/// The base of the suites. It knows the ground not in its constructor, but from SetUp() on.
template <class GroundType>
class OnGround : public ::testing::Test {
 public:
  using Ground = GroundType;
  using Needs = std::vector<typename Ground::Need>;
  void stand_on(std::shared_ptr<const Ground> ground) { ground_ = std::move(ground); }

 protected:
  [[nodiscard]] const Ground& ground() const { return *ground_; }

 private:
  std::shared_ptr<const Ground> ground_;
};

/// What this program has of both, met while it starts: of two sources either may come first, so
/// that whichever of a test and a ground is met later is put together with all of the other kind.
template <class Ground>
class Grounds {
 public:
  using Needs = typename OnGround<Ground>::Needs;
  struct Case {
    std::type_index suite;
    std::string name;
    Needs needs;
    std::function<void(const std::string& prefix, const std::shared_ptr<const Ground>&)> put;
    int times = 0;  ///< on how many grounds it stands
  };
  struct Place {
    std::string prefix;
    std::shared_ptr<const Ground> ground;
    std::vector<std::type_index> suites;  ///< empty = all
  };

  [[nodiscard]] static Grounds& here() {
    static Grounds all;
    return all;
  }
  void add(Case one) {
    for (const Place& place : places_) meet(one, place);
    cases_.push_back(std::move(one));
  }
  void add(Place place) {
    for (Case& one : cases_) meet(one, place);
    places_.push_back(std::move(place));
  }
  [[nodiscard]] const std::vector<Case>& cases() const noexcept { return cases_; }

 private:
  static void meet(Case& one, const Place& place) {
    const auto& suites = place.suites;
    if (!suites.empty() && std::find(suites.begin(), suites.end(), one.suite) == suites.end()) {
      return;
    }
    const Ground& ground = *place.ground;
    if (std::all_of(one.needs.begin(), one.needs.end(),
                    [&](const auto& need) { return ground.has(need); })) {
      one.put(place.prefix, place.ground);
      ++one.times;
    }
  }

  std::vector<Case> cases_;
  std::vector<Place> places_;
};

/// @param make makes the test. All tests of a suite have this function in common: one of its own
/// for each would take as long to compile as a short test.
template <class Suite>
bool add_test(std::unique_ptr<Suite> (*make)(), const char* suite, const char* name,
              typename Suite::Needs needs, const char* file, int line) {
  using Ground = typename Suite::Ground;
  auto put = [=](const std::string& prefix, const std::shared_ptr<const Ground>& ground) {
    ::testing::RegisterTest((prefix + "/" + suite).c_str(),
                            (std::string(name) + "/" + name_of(*ground)).c_str(), nullptr,
                            name_of(*ground).c_str(), file, line, [make, ground]() -> Suite* {
                              std::unique_ptr<Suite> test = make();
                              test->stand_on(ground);
                              return test.release();
                            });
  };
  Grounds<Ground>::here().add(
      {typeid(Suite), std::string(suite) + "." + name, std::move(needs), std::move(put)});
  return true;
}

/// With no suites: all.
template <class... Suites, class Ground>
bool add_ground(const char* prefix, Ground ground) {
  Grounds<Ground>::here().add({prefix, std::make_shared<const Ground>(std::move(ground)),
                               std::vector<std::type_index>{typeid(Suites)...}});
  return true;
}

}  // namespace mortise::test

/// MORTISE_TEST(Suite, Name, needs...) { body }: what TEST_P is to other suites.
#define MORTISE_TEST(suite, name, ...)                                                      \
  class suite##_##name##_Test : public suite {                                              \
    void TestBody() override;                                                               \
  };                                                                                        \
  [[maybe_unused]] const bool suite##_##name##_is_known = ::mortise::test::add_test<suite>( \
      []() -> std::unique_ptr<suite> {                                                      \
        return std::unique_ptr<suite>(new suite##_##name##_Test);                           \
      },                                                                                    \
      #suite, #name, {__VA_ARGS__}, __FILE__, __LINE__);                                    \
  void suite##_##name##_Test::TestBody()
