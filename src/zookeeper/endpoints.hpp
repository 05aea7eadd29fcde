// SPDX-License-Identifier: MIT
// Which servers can be asked: the addresses to which the hosts of the URL lead by now.
#pragma once

#include <mortise/error.hpp>

#include "base/address.hpp"
#include "base/random_id.hpp"
#include "base/resolver.hpp"
#include "zookeeper/socket.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace mortise::zookeeper {

class Endpoints {
 public:
  /// @param hosts outlive it
  explicit Endpoints(const std::vector<base::Address>& hosts)
      : hosts_(hosts), random_(base::random_bits()) {}

  /// Begins to look up all hosts.
  void look_up();
  /// @param is_late the lookup of a host that has no answer yet fails
  /// @return true if each host has an answer
  [[nodiscard]] bool take_answers(bool is_late);
  /// @return what to poll until then.
  [[nodiscard]] int descriptor() const noexcept;
  /// @return why the last lookup found no server, so that those before it stay; none: it found one.
  [[nodiscard]] const Failure& failure() const noexcept { return failure_; }
  [[nodiscard]] std::size_t count() const noexcept { return found_.size(); }
  /// @return the servers as the C client reads them, each time in another order: not all clients
  /// begin with the same server.
  [[nodiscard]] std::string list();
  /// @return the hosts of each of them.
  [[nodiscard]] Hosts names() const;
  /// That server has refused our certificate, or we its own.
  /// @return true if each server has done so since it was found
  [[nodiscard]] bool deny(const std::string& endpoint);

 private:
  struct Server {
    std::string endpoint{};  // as numbers
    std::string host{};
    bool is_denied = false;
  };
  const std::vector<base::Address>& hosts_;
  std::vector<std::unique_ptr<base::Resolver>> resolvers_;  // of each host
  std::size_t open_ = 0;                                    // the first so many have no answer yet
  std::vector<Server> answers_;                             // of the others
  Failure failure_{};
  std::vector<Server> found_;  // by the last lookup that found any
  base::SplitMix random_;
};

}  // namespace mortise::zookeeper
