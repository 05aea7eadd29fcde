// SPDX-License-Identifier: MIT
#include "simulation/scene/postgres_copies.hpp"

#include <mortise/client.hpp>

#include <string>
#include <thread>

namespace simulation {
namespace {

constexpr const char* asked_for_slowly = "copies/name";
/// A connection that has not answered within a second is given time, and another one is asked.
constexpr Nanos slower_than_patience = 1700ms;
constexpr Nanos slow_time = 20s;
/// An attempt is asked for by one connection at a time, one after the other.
constexpr int most_for_a_lock = 16;
/// The library asks for a release once a second, and each connection that is slow once more.
constexpr int most_for_a_release = 46;

}  // namespace

void PostgresCopies::come() {
  trial_.begin("repeater", [this](Process&, mortise::Client& client) {
    mortise::Lock lock = client.make_lock(asked_for_slowly);
    lock.lock();  // its row is there
    lock.unlock();
    std::thread time([this] {
      be_slow(true);
      std::this_thread::sleep_for(slow_time);
      be_quick("for a free lock", most_for_a_lock);
    });
    lock.lock();
    time.join();
    be_slow(false);
    lock.unlock();
    std::this_thread::sleep_for(slow_time);
    be_quick("to release it", most_for_a_release);
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
    return slower_than_patience;
  });
}

void PostgresCopies::be_quick(const char* what, int most) {
  trial_.delay({});
  if (requests_ <= most) return;
  trial_.judge().blame("limit", std::to_string(requests_) + " requests in " +
                                    std::to_string(slow_time.count() / 1'000'000'000) + " s " +
                                    what + ", of a server that is slow");
}

}  // namespace simulation
