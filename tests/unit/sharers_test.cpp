// SPDX-License-Identifier: MIT
// Goal: each reader's guards and end are its own, and what nobody can unlock keeps a shared hold no
// longer than it would have kept one of its own. Method: events are fed to the state; the test says
// whose thread has ended.
#include "core/sharers.hpp"

#include "core/name_state.hpp"

#include <gtest/gtest.h>

#include <set>

namespace mortise::core {
namespace {

using namespace std::chrono_literals;
using Entry = NameState::Entry;
using Exit = NameState::Exit;

class SharersTest : public ::testing::Test {
 protected:
  /// @return the owner of a part.
  Owner comes(Nanos lease = 30s) {
    readers_.push_back(std::make_unique<Waiter>(Waiter{.owner = Owner::unique(), .terms = terms_}));
    Waiter& reader = *readers_.back();
    if (state_.enter(reader, false, now_, {}) == Entry::ask) {
      Hold hold{.owner = reader.owner, .number = 7, .generation = 1};
      hold.granted_at = hold.owned_since = now_;
      hold.terms = terms_;
      hold.lease = Lease(*terms_, {.number = 7, .counted_from = now_, .lease = lease}, {}, now_, 0);
      state_.granted(reader, std::move(hold), state_.expect_grant(Mode::shared));
    }
    return reader.owner;
  }
  Sharers& sharers() { return *state_.sharers(); }
  /// At that time somebody looks who is left.
  void look(Instant now) {
    now_ = now;
    sharers().disown(now, [this](const Sharer& sharer) {
      return sharer.guards == 0 && ended_.contains(sharer.owner.id());
    });
  }
  void renew(Instant at) { ASSERT_TRUE(sharers().hold().lease.renewed(at, 30s, at)); }
  void ends(Owner owner) { ended_.insert(owner.id()); }

  static constexpr Nanos unused = 330ms;  // the end of a lease of 30 s
  Instant now_{1h};
  const Instant start_ = now_;
  std::shared_ptr<const Terms> terms_ =
      std::make_shared<Terms>(Terms{.lease = 30s, .label = "test", .mode = Mode::shared});
  std::vector<std::unique_ptr<Waiter>> readers_;
  std::set<std::uint64_t> ended_;
  NameState state_;
};

TEST_F(SharersTest, GuardsCountForEachReader) {
  const Owner a = comes();
  const Owner b = comes();
  state_.change_guards(a, 1, Mode::shared);
  state_.change_guards(a, 1, Mode::shared);
  state_.change_guards(b, 1, Mode::shared);
  state_.change_guards(b, 1);  // it has no such hold
  EXPECT_EQ(sharers().find(a)->guards, 2U);
  EXPECT_EQ(sharers().find(b)->guards, 1U);
  state_.change_guards(a, -1, Mode::shared);
  state_.change_guards(b, -1, Mode::shared);
  state_.change_guards(b, -1, Mode::shared);
  EXPECT_EQ(sharers().find(a)->guards, 1U);
  EXPECT_EQ(sharers().find(b)->guards, 0U);
  ASSERT_TRUE(state_.lose(1, false));
  EXPECT_EQ(state_.lost().find(a, Mode::shared)->guards, 1U);
  EXPECT_EQ(state_.lost().find(b, Mode::shared)->guards, 0U);
  state_.change_guards(a, -1, Mode::shared);
  EXPECT_EQ(state_.lost().find(a, Mode::shared)->guards, 0U);
}

TEST_F(SharersTest, OwnersAndReadersGuardsAreTwoThings) {
  Waiter owner{.owner = Owner::unique(),
               .terms = std::make_shared<Terms>(Terms{.lease = 30s, .label = "test"})};
  ASSERT_EQ(state_.enter(owner, false), Entry::ask);
  static_cast<void>(state_.expect_grant());
  state_.granted(owner, Hold{.owner = owner.owner, .terms = owner.terms});
  Waiter reader{.owner = owner.owner, .terms = terms_};
  ASSERT_EQ(state_.enter(reader, false, now_, {}), Entry::ask);
  state_.granted(reader, Hold{.owner = owner.owner, .terms = terms_},
                 state_.expect_grant(Mode::shared));
  state_.change_guards(owner.owner, 1, Mode::shared);
  EXPECT_EQ(state_.live()->guards, 0U);
  state_.change_guards(owner.owner, 1);
  state_.change_guards(owner.owner, -1, Mode::shared);
  EXPECT_EQ(state_.live()->guards, 1U);
  EXPECT_EQ(sharers().find(owner.owner)->guards, 0U);
}

// Promise: M1
TEST_F(SharersTest, NobodyJoinsWhatIsKeptBeside) {
  const auto keeps = std::make_shared<Terms>(Terms{.lease = 30s, .label = "test", .min_hold = 20s});
  Waiter owner{.owner = Owner::unique(), .terms = keeps};
  ASSERT_EQ(state_.enter(owner, false), Entry::ask);
  static_cast<void>(state_.expect_grant());
  state_.granted(owner, Hold{.owner = owner.owner, .owned_since = start_, .terms = keeps});
  Waiter reader{.owner = owner.owner, .terms = terms_};
  ASSERT_EQ(state_.enter(reader, false, now_, {}), Entry::ask);
  Hold hold{.owner = owner.owner, .granted_at = now_, .owned_since = now_, .terms = terms_};
  hold.lease = Lease(*terms_, {.number = 7, .counted_from = now_, .lease = 30s}, {}, now_, 0);
  state_.granted(reader, std::move(hold), state_.expect_grant(Mode::shared));
  EXPECT_EQ(state_.unlock(owner.owner, start_ + 5s, {}).exit, Exit::release);
  state_.release_sent();
  ASSERT_TRUE(sharers().hold().lease.renewed(start_ + 10s, 30s, start_ + 10s));
  Waiter other{.owner = Owner::unique(), .terms = terms_};
  EXPECT_EQ(state_.enter(other, true, start_ + 20s - 1ns, {}), Entry::wait);
  EXPECT_EQ(state_.serve(start_ + 20s - 1ns, {}), nullptr);
  EXPECT_EQ(state_.serve(start_ + 20s, {}), &other);
}

// Promise: L9
TEST_F(SharersTest, WhereNobodyIsLeftTheHoldIsNotRenewed) {
  const Owner a = comes();
  const Owner b = comes();
  ends(a);
  ends(b);
  look(start_ + 10s);
  EXPECT_TRUE(sharers().hold().lease.ownerless());
  EXPECT_EQ(sharers().next_end(), start_ + 30s - unused);
  EXPECT_EQ(sharers().hold().lease.deadline(), sharers().next_end());
  Waiter late{.owner = Owner::unique(), .terms = terms_};
  EXPECT_EQ(state_.enter(late, false, now_, {}), Entry::busy) << "whoever joined would lose it";
}

// Promise: L9
TEST_F(SharersTest, APartThatNobodyCanUnlockEndsAsTheHoldWouldHave) {
  const Owner a = comes();
  const Owner b = comes();
  look(start_ + 9s);
  EXPECT_EQ(sharers().next_end(), never);
  ends(a);
  renew(start_ + 10s);
  look(start_ + 20s);
  const Instant end = start_ + 40s - unused;
  EXPECT_EQ(sharers().next_end(), end);
  renew(start_ + 20s);
  look(start_ + 30s);
  EXPECT_EQ(sharers().next_end(), end) << "it was renewed for somebody else";
  EXPECT_FALSE(sharers().hold().lease.ownerless());
  const NameState::Loss loss = state_.lose_part(end);
  EXPECT_EQ(loss.ended.owner, a);
  EXPECT_EQ(state_.serve(end, {}), nullptr);
  EXPECT_TRUE(loss.sharers.list().empty());
  ASSERT_NE(state_.lost().find(a, Mode::shared), nullptr) << "until somebody forgets it";
  EXPECT_EQ(sharers().find(a), nullptr);
  EXPECT_NE(sharers().find(b), nullptr);
  EXPECT_EQ(sharers().next_end(), never);
  EXPECT_EQ(state_.unlock(b, end, {}, Mode::shared).exit, Exit::release);
}

TEST_F(SharersTest, WhoeverStaysLastLeavesWhatIsNobodys) {
  const Owner a = comes();
  const Owner b = comes();
  ends(a);
  look(start_ + 10s);
  renew(start_ + 10s);
  EXPECT_EQ(state_.unlock(b, start_ + 15s, {}, Mode::shared).exit, Exit::parted);
  look(start_ + 20s);
  EXPECT_TRUE(sharers().hold().lease.ownerless());
  EXPECT_EQ(sharers().next_end(), start_ + 30s - unused) << "not when its lease ends";
  EXPECT_EQ(sharers().hold().lease.deadline(), start_ + 40s - unused);
}

TEST_F(SharersTest, AGuardKeepsItsOwnPartOnly) {
  const Owner a = comes();
  const Owner b = comes();
  ends(a);
  ends(b);
  state_.change_guards(a, 1, Mode::shared);
  look(start_ + 10s);
  EXPECT_EQ(sharers().find(a)->until, never);
  EXPECT_EQ(sharers().find(b)->until, start_ + 30s - unused);
  EXPECT_FALSE(sharers().hold().lease.ownerless());
}

TEST_F(SharersTest, WithoutALeaseAPartEndsAsIfThereWasOne) {
  const Owner a = comes(no_lease);
  comes(no_lease);
  ends(a);
  look(start_ + 20s);
  EXPECT_EQ(sharers().next_end(), start_ + 40s) << "a lease from the last look at which it was not";
  look(start_ + 30s);
  EXPECT_EQ(sharers().next_end(), start_ + 40s);
  EXPECT_EQ(sharers().hold().lease.deadline(), never);
}

}  // namespace
}  // namespace mortise::core
