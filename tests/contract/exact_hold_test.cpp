// SPDX-License-Identifier: MIT
// Goal: release and renewal act for the exact hold only (S3), and a renewal never brings a lapsed
// lock back (S4). Method: the server is asked what the library itself never would: it checks first,
// so that a server which believes everybody would go unnoticed.
#include "support/contract_suites.hpp"

namespace mortise::contract {
namespace {

/// Who asks a backend waits, or has somebody else wait: the client is given something to wait for.
template <class Request>
bool answered(Party& party, const Request& request) {
  return eventually([&] {
    if (!request->done()) party.client.check(patience);
    return request->done();
  });
}

Released ask_release(Party& party, HoldId hold) {
  const auto release = std::make_shared<Release>(std::move(hold));
  party.probe->backend().release(release);
  EXPECT_TRUE(answered(party, release));
  return release->outcome();
}

Renewal::Answer ask_renewal(Party& party, HoldId hold, std::chrono::nanoseconds lease) {
  const auto renewal = std::make_shared<Renewal>(
      std::vector<Renewal::Item>{Renewal::Item{.hold = std::move(hold), .lease = lease}});
  party.probe->backend().renew(renewal);
  EXPECT_TRUE(answered(party, renewal));
  return renewal->items().front().answer;
}

/// The ways to name a hold nearly right.
std::vector<HoldId> forgeries(const HoldId& hold) {
  std::vector<HoldId> forged(5, hold);
  ++forged[0].attempt.sequence;
  ++forged[1].attempt.client_high;
  ++forged[2].attempt.client_low;
  ++forged[3].number;
  forged[4].number = 0;
  return forged;
}

// Promise: S3
MORTISE_TEST(ExactHold, AForgedReleaseFreesNothing) {
  Party holder = party();
  Party forger = party();
  Lock held = holder.client.make_lock("name");
  held.lock();
  for (const HoldId& forged : forgeries(*holder.probe->last_grant("name"))) {
    EXPECT_EQ(ask_release(forger, forged), Released::was_lost);
    EXPECT_EQ(ask_release(holder, forged), Released::was_lost);
  }
  Lock wanted = forger.client.make_lock("name");
  EXPECT_FALSE(wanted.try_lock()) << "a forged release freed the name";
  EXPECT_EQ(held.release(), Released::released);
}

// Promise: S3
MORTISE_TEST(ExactHold, ASecondReleaseIsReported) {
  Party holder = party();
  Lock lock = holder.client.make_lock("name");
  lock.lock();
  const HoldId first = *holder.probe->last_grant("name");
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_EQ(ask_release(holder, first), Released::was_lost);
  lock.lock();
  EXPECT_EQ(ask_release(holder, first), Released::was_lost) << "it is another hold by now";
  Client other = client();
  EXPECT_FALSE(other.make_lock("name").try_lock()) << "the old hold's release freed the new hold";
  EXPECT_EQ(lock.release(), Released::released);
}

// Promise: S3
MORTISE_TEST(ExactHold, AForgedRenewalIsRefused) {
  Party holder = party();
  Party forger = party();
  Lock held = holder.client.make_lock("name");
  held.lock();
  const HoldId hold = *holder.probe->last_grant("name");
  for (const HoldId& forged : forgeries(hold)) {
    EXPECT_EQ(ask_renewal(holder, forged, 30s), Renewal::Answer::lost);
  }
  HoldId elsewhere = hold;
  elsewhere.name = "other name";
  EXPECT_EQ(ask_renewal(holder, elsewhere, 30s), Renewal::Answer::lost);
  EXPECT_EQ(ask_renewal(holder, hold, 30s), Renewal::Answer::renewed) << "the real one is not";
  held.unlock();
  EXPECT_EQ(ask_renewal(holder, hold, 30s), Renewal::Answer::lost) << "it ended with its unlock";
}

// Promise: S4
MORTISE_TEST(ExactHold, ARenewalNeverBringsALapsedLockBack, Quality::leases) {
  take_any_clock();
  Party holder = party();
  Client other = client();
  Lock lapsed = holder.client.make_lock("name", losable());
  lapsed.lock();
  const HoldId hold = *holder.probe->last_grant("name");
  lose(lapsed);
  Lock next = other.make_lock("name");
  next.lock();  // not before the server, too, counts the lease as ended
  EXPECT_EQ(ask_renewal(holder, hold, 30s), Renewal::Answer::lost) << "while another one holds";
  EXPECT_GT(next.valid_for(), 0ns);
  next.unlock();
  EXPECT_EQ(ask_renewal(holder, hold, 30s), Renewal::Answer::lost) << "while nobody holds";
  ASSERT_TRUE(next.try_lock()) << "a refused renewal took the name";
  next.unlock();
}

// Promise: S3
MORTISE_TEST(ExactHold, AnUnlockAfterTheLossLeavesTheNextHolderAlone, Quality::loss) {
  take_any_clock();
  Party loser = party();
  Client other = client();
  Client third = client();
  Lock lost = loser.client.make_lock("name", losable());
  lost.lock();
  const HoldId hold = *loser.probe->last_grant("name");
  lose(lost);
  Lock next = other.make_lock("name");
  next.lock();
  EXPECT_EQ(lost.release(), Released::was_lost);
  EXPECT_EQ(ask_release(loser, hold), Released::was_lost);
  EXPECT_FALSE(third.make_lock("name").try_lock()) << "the loser's unlock freed the next hold";
  EXPECT_EQ(next.release(), Released::released);
}

// Promise: S3
MORTISE_TEST(ExactHold, UnlockByAStrangerIsRefusedAndChangesNothing) {
  Party holder = party();
  Client other = client();
  Lock held = holder.client.make_lock("name");
  held.lock();
  const Probe::Counts before = holder.probe->counts();
  Worker stranger;
  std::error_code ec;
  stranger.run([&] { held.unlock(ec); });
  EXPECT_EQ(ec, Errc::not_owner);
  stranger.run([&] { held.release(ec); });
  EXPECT_EQ(ec, Errc::not_owner);
  Lock elsewhere = other.make_lock("name");
  elsewhere.unlock(ec);
  EXPECT_EQ(ec, Errc::not_owner) << "another client's handle of the same name";
  try {
    held.unlock(Owner::unique());
    FAIL() << "unlock by a stranger was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.errc(), Errc::not_owner);
    const std::string words = error.what();
    EXPECT_EQ(words.find("name: another owner of this client holds it"), 0U) << words;
    EXPECT_NE(words.find("mortise::Owner"), std::string::npos) << words;
  }
  EXPECT_EQ(holder.probe->counts().all(), before.all()) << "the server was asked";
  EXPECT_EQ(held.hold_count(), 1U);
  EXPECT_FALSE(elsewhere.try_lock());
  EXPECT_EQ(held.release(), Released::released);
}

// Promise: S3
MORTISE_TEST(ExactHold, RenewalDoesNotOutliveTheUnlock, Quality::leases) {
  take_any_clock();
  const auto record = std::make_shared<Record>();
  Party both = party({.observer = record});
  const std::chrono::milliseconds lease = real_time() ? renewed_lease() : 30'000ms;
  Lock freed = both.client.make_lock("freed", {.lease = lease});
  Lock kept = both.client.make_lock("kept", {.lease = lease});
  kept.lock();
  freed.lock();
  freed.lock();
  freed.unlock();
  freed.unlock();
  const std::uint64_t renewals = both.probe->renewals_of("freed");
  // The renewals of the other hold show that time has passed and the watchdog is awake.
  for (std::size_t i = 1; i <= 4; ++i) {
    if (!real_time()) clock().advance(lease / 3);
    ASSERT_TRUE(record->told(Record::Kind::renewed, i));
  }
  EXPECT_EQ(both.probe->renewals_of("freed"), renewals);
  kept.unlock();
}

MORTISE_TEST(ExactHold, ARenewalUnderWayDoesNotTakeTheNameBack, Quality::leases, Hook::delays) {
  // Renewals and releases overtake each other at every turn.
  Party holder = party();
  Client other = client();
  const auto latency = short_lease() / 8;
  store().misbehave({.delay_min = 0ns, .delay_max = latency});
  Lock lock = holder.client.make_lock("name", {.lease = short_lease()});
  for (int i = 0; i < 10; ++i) {
    std::error_code ec;
    lock.lock(ec);
    if (ec) continue;  // the network was too slow for so short a lease: nothing is held then
    const std::uint64_t renewals = holder.probe->renewals_of("name");
    static_cast<void>(eventually(
        [&] { return holder.probe->renewals_of("name") > renewals || lock.valid_for() == 0ns; }));
    static_cast<void>(lock.release());
  }
  store().misbehave({});
  Lock next = other.make_lock("name");
  EXPECT_TRUE(taken_within(next, short_lease() + fallback_period * 3));
  if (next.hold_count() > 0) next.unlock();
}

}  // namespace
}  // namespace mortise::contract
