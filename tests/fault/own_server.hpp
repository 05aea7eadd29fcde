// SPDX-License-Identifier: MIT
// A server of the test's own, as suites see it that run on each: it is killed and started anew
// (restart_test.cpp), stands still (standstill_test.cpp), as its clients may (pauses_test.cpp),
// cuts their connections (cut_connections_test.cpp), and is asked to take a lock by force
// (forced_release_test.cpp). It has everything again that it had acknowledged, however it ended.
// A backend's own is in its <backend>_own_server.cpp.
#pragma once

#include "fault/party.hpp"
#include "support/grounds.hpp"
#include "support/needs.hpp"
#include "support/proxy.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace mortise::fault {

/// Destroyed after its clients.
class OwnServer {
 public:
  OwnServer() = default;
  OwnServer(const OwnServer&) = delete;
  OwnServer& operator=(const OwnServer&) = delete;
  virtual ~OwnServer() = default;

  /// @param lease of its holds, where that is the client's and not each hold's
  [[nodiscard]] virtual Client client(std::chrono::milliseconds lease, ClientOptions options) = 0;
  /// @return the options of a hold with that lease.
  [[nodiscard]] virtual LockOptions hold(std::chrono::milliseconds lease) const {
    return {.lease = lease};
  }
  virtual void kill() = 0;
  virtual void start() = 0;
  /// How long its last start took; 0 = no time that a lease would notice.
  [[nodiscard]] virtual std::chrono::nanoseconds start_took() const { return {}; }
  virtual void stop() = 0;  ///< it stands still
  virtual void resume() = 0;
  /// Ends one of its clients' connections, or a kind of them, or all, as the dice say.
  /// @return how many at least
  virtual int cut(std::uint64_t dice) = 0;
  /// A way to it of its own, with the faults of that. Called once.
  [[nodiscard]] virtual std::unique_ptr<test::Proxy> way() const = 0;
  /// @return a client by that way that may take locks by force.
  [[nodiscard]] virtual Client administrator(const test::Proxy& way) const = 0;
  /// @return what stands at the server for the first that waits for the name; empty = nobody waits.
  [[nodiscard]] virtual std::string place(const std::string& name) = 0;
};

/// What a test needs of it.
enum class Ability {
  leases,  ///< each hold has a lease of its own, which a client can leave to run out
  cuts,    ///< `cut()`, which takes no hold
};

/// A kind of request, and which of them it is: "EVAL", 2.
struct NthRequest {
  std::string command{};
  std::size_t nth = 1;
};

struct OwnServerGround {
  using Need = Ability;

  std::string name;
  std::function<std::unique_ptr<OwnServer>()> open;
  std::function<std::string()> missing;
  bool sessions = false;                       ///< a hold is its client's session: no abilities
  bool remembers_waiters = false;              ///< whoever has gone has its `place()` for a while
  NthRequest ends_by_force{};                  ///< of a forced release, which ends the hold
  std::chrono::milliseconds short_lease{600};  ///< that tests may wait out
  std::chrono::milliseconds lease{4'000};      ///< longer than a restart on an idle machine

  [[nodiscard]] bool has(Need /*any*/) const noexcept { return !sessions; }
};

inline const std::string& name_of(const OwnServerGround& ground) { return ground.name; }

class OwnServerTest : public test::OnGround<OwnServerGround> {
 protected:
  void SetUp() override {
    MORTISE_NEEDS(ground().missing());
    server_ = ground().open();
  }
  [[nodiscard]] OwnServer& server() { return *server_; }
  [[nodiscard]] Client client(std::chrono::milliseconds lease, ClientOptions options = {}) {
    return server().client(lease, std::move(options));
  }
  [[nodiscard]] Client client() { return client(lease_beyond_a_restart()); }
  /// @return a lease of which a restart leaves most, if it takes as long as the last one. A loaded
  /// machine needs many seconds to start a JVM.
  [[nodiscard]] std::chrono::milliseconds lease_beyond_a_restart() const {
    const std::chrono::milliseconds longest_session = LockOptions().lease;
    const auto last = std::max(server_->start_took(), restart_took_);
    const auto long_enough = std::chrono::ceil<std::chrono::milliseconds>(last * 4);
    return std::clamp(long_enough, ground().lease, longest_session);
  }
  /// Kills the server and starts it again while the lock is held.
  /// @return whether it was back in time. If it took longer than the last time, the hold may be
  /// lost by right, and the caller has to repeat the round
  [[nodiscard]] bool restarts_within_lease(const Lock& lock, std::chrono::milliseconds lease) {
    restart_took_ = duration_of([&] {
      server().kill();
      server().start();
    });
    return lock.valid_for() > lease / 2;
  }
  [[nodiscard]] bool comes_to_wait(const std::string& name) {
    return eventually([&] { return !server().place(name).empty(); });
  }
  void expect_nobody_waits(const std::string& name) {
    if (ground().remembers_waiters) return;
    EXPECT_EQ(server().place(name), "") << name;
  }
  /// @return whether nobody holds the name, soon, as another client sees it.
  [[nodiscard]] bool comes_free(Client& other, const std::string& name,
                                std::chrono::nanoseconds within) {
    Lock lock = other.make_lock(name);
    return eventually([&] { return !lock.holder(); }, within);
  }

 private:
  std::unique_ptr<OwnServer> server_;
  std::chrono::nanoseconds restart_took_{0};
};

class Restart : public OwnServerTest {};
class Pauses : public OwnServerTest {};
class Standstill : public OwnServerTest {};
class ForcedRelease : public OwnServerTest {};
class CutConnections : public OwnServerTest {};
class CutConnectionsLong : public CutConnections {};

}  // namespace mortise::fault
