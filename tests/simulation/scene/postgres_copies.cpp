// SPDX-License-Identifier: MIT
#include "simulation/scene/postgres_copies.hpp"

#include <mortise/client.hpp>

#include <string>
#include <system_error>
#include <thread>

namespace simulation {
namespace {

constexpr const char* asked_for_slowly = "copies/name";
constexpr const char* freed_slowly = "copies/other";
/// The time for an answer grows with the round trips, up to a sixth of the lease, and to four
/// seconds for a release. A connection that does not answer for longer is given time, and another
/// one is asked.
constexpr auto short_lease = 10s;
constexpr Nanos slow_to_take = 1700ms;
constexpr Nanos slow_to_release = 4200ms;
/// Less than the lease of a hold whose grant was lost.
constexpr Nanos slow_time_to_take = 8s;
constexpr Nanos slow_time_to_release = 28s;
/// An attempt is asked for by one connection at a time, one after the other.
constexpr int most_for_a_lock = 8;
/// The library asks for a release once a second, and each connection that is slow once more.
constexpr int most_for_a_release = 42;

}  // namespace

void PostgresCopies::come() {
  trial_.begin("repeater", [this](Process&, mortise::Client& client) {
    mortise::Lock lock = client.make_lock(asked_for_slowly, {.lease = short_lease});
    lock.lock();  // its row is there
    lock.unlock();
    std::thread time([this] {
      be_slow(true);
      std::this_thread::sleep_for(slow_time_to_take);
      be_quick("for a free lock", slow_time_to_take, most_for_a_lock);
    });
    std::error_code error;
    lock.lock(error);
    time.join();
    if (error) return trial_.judge().blame("L1", "a slow server grants nothing");
    lock.unlock();
    mortise::Lock other = client.make_lock(freed_slowly);
    other.lock();
    be_slow(false);
    other.unlock();
    std::this_thread::sleep_for(slow_time_to_release);
    be_quick("to release it", slow_time_to_release, most_for_a_release);
  });
  trial_.run_until_gone();
  trial_.delay({});
}

void PostgresCopies::be_slow(bool takes) {
  requests_ = 0;
  trial_.delay([this, takes](ConnectionId, postgres::Statement statement, postgres::Point point) {
    using postgres::Statement;
    const bool take = statement == Statement::take || statement == Statement::look;
    const bool free = statement == Statement::release || statement == Statement::cancel;
    // A request that takes is void by then, unless it has been executed.
    const auto slow = takes ? postgres::Point::answers : postgres::Point::begins;
    if (point != slow || !(takes ? take : free)) return Nanos(0);
    ++requests_;
    return takes ? slow_to_take : slow_to_release;
  });
}

void PostgresCopies::be_quick(const char* what, Nanos slow_time, int most) {
  trial_.delay({});
  if (requests_ <= most) return;
  trial_.judge().blame("limit", std::to_string(requests_) + " requests in " +
                                    std::to_string(slow_time.count() / 1'000'000'000) + " s " +
                                    what + ", of a server that is slow");
}

}  // namespace simulation
