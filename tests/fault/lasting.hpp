// SPDX-License-Identifier: MIT
// Servers that have everything again that they had acknowledged, however they end: the ground of
// the tests that a restart of each of them has to pass (restart_test.cpp). A backend adds its own
// in its file of restarts.
#pragma once

#include "fault/party.hpp"
#include "support/grounds.hpp"
#include "support/needs.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace mortise::fault {

/// A server of the test's own. Destroyed after its clients.
class LastingServer {
 public:
  LastingServer() = default;
  LastingServer(const LastingServer&) = delete;
  LastingServer& operator=(const LastingServer&) = delete;
  virtual ~LastingServer() = default;

  /// @param lease of its holds, where that is the client's and not each hold's
  [[nodiscard]] virtual Client client(std::chrono::milliseconds lease, ClientOptions options) = 0;
  /// @return the options of a hold with that lease.
  [[nodiscard]] virtual LockOptions hold(std::chrono::milliseconds lease) const {
    return {.lease = lease};
  }
  virtual void kill() = 0;
  virtual void start() = 0;
  /// @return what stands at the server for the first that waits for the name; empty = nobody waits.
  [[nodiscard]] virtual std::string place(const std::string& name) = 0;
};

/// What a test needs of it.
enum class Lasts {
  by_hold,  ///< each hold has a lease of its own, which a client can leave to run out
};

struct LastingGround {
  using Need = Lasts;

  std::string name;
  std::function<std::unique_ptr<LastingServer>()> open;
  std::function<std::string()> missing;
  bool by_hold = true;
  std::chrono::milliseconds short_lease{600};  ///< that tests may wait out
  std::chrono::milliseconds lease{4'000};      ///< longer than a restart

  [[nodiscard]] bool has(Need /*by_hold*/) const noexcept { return by_hold; }
};

inline const std::string& name_of(const LastingGround& ground) { return ground.name; }

class Restart : public test::OnGround<LastingGround> {
 protected:
  void SetUp() override {
    MORTISE_NEEDS(ground().missing());
    server_ = ground().open();
  }
  [[nodiscard]] LastingServer& server() { return *server_; }
  [[nodiscard]] Client client(std::chrono::milliseconds lease, ClientOptions options = {}) {
    return server().client(lease, std::move(options));
  }
  [[nodiscard]] Client client() { return client(ground().lease); }
  void kill_and_start() {
    server().kill();
    server().start();
  }
  [[nodiscard]] bool comes_to_wait(const std::string& name) {
    return eventually([&] { return !server().place(name).empty(); });
  }

 private:
  std::unique_ptr<LastingServer> server_;
};

}  // namespace mortise::fault
