// SPDX-License-Identifier: MIT
// Which server has a name: one server has all of them, or those of a cluster have some each.
#pragma once

#include "redis/connection/server.hpp"
#include "redis/store/parts.hpp"
#include "redis/store/reply.hpp"
#include "redis/store/server_error.hpp"
#include "redis/topology/slots.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace mortise::redis {

/// @thread_safety every member may be called concurrently
class Topology {
 public:
  virtual ~Topology() = default;

  /// @return the server that has that name now.
  [[nodiscard]] virtual Server& server_of(std::string_view name) const noexcept = 0;
  /// @return the server that a call goes to now.
  [[nodiscard]] virtual Server& server_of(const Call& call) const noexcept = 0;
  /// @return the servers that were met, by number, from 0: it needs no memory; null = no more.
  [[nodiscard]] virtual Server* nth(std::size_t number) const noexcept = 0;
  /// @return true if one request may be about several names.
  [[nodiscard]] virtual bool takes_several_names() const noexcept { return true; }

  /// The first request of the client comes.
  virtual void begin() {}
  /// @return when `look()` has to be called.
  [[nodiscard]] virtual Instant due() const noexcept { return never; }
  virtual void look(Instant /*now*/) {}

  // What servers say.

  /// A server is acceptable by itself. @return why it is not one of those that are meant
  [[nodiscard]] virtual Failure refuses(Server& /*server*/, const SlotTable& /*table*/) {
    return {};
  }
  /// The connection to a server cannot be made, and the next one will fail as well.
  /// @return false: another server may do
  [[nodiscard]] virtual bool is_needed(const Failure& /*why*/) { return true; }
  /// It answers a call that asks which call goes where.
  virtual void answered_route(Server& /*server*/, const Reply& /*reply*/) {}
  /// It refused a call. May change what that means.
  /// @return true if the call goes to another server, or later
  [[nodiscard]] virtual bool redirects(Server& /*server*/, const Call& /*call*/,
                                       const Reply& /*reply*/, ServerError& /*error*/) {
    return false;
  }
  /// @return that another server in the URL is none of those that are meant; none = none is, as far
  /// as is known.
  [[nodiscard]] virtual Failure stranger() const { return {}; }

  // How waiters get to know.

  /// An attempt is about to be asked for.
  virtual void will_ask(const Acquisition::Request& /*request*/) {}
  /// @return true if waiters can ask again together.
  [[nodiscard]] virtual bool asks_together() const noexcept { return false; }
  /// @return true if an attempt may wait in a queue there: it will get to know.
  [[nodiscard]] virtual bool may_wait(const Server& server) const noexcept = 0;
  /// It waits in a queue there.
  virtual void waits(Server& /*server*/, const Acquisition::Request& /*request*/) {}
  /// The inbox of that server is there.
  virtual void listens(Server& server) = 0;
  /// @return true if it was about a subscription of this.
  [[nodiscard]] virtual bool takes_message(Server& /*server*/, const Reply& /*message*/) {
    return false;
  }
  /// The server refused a request of an inbox. @return true if that is settled
  [[nodiscard]] virtual bool takes_refusal(Server& /*server*/, const ServerError& /*error*/,
                                           const std::string& /*words*/) {
    return false;
  }
  /// Finds out by which clock a push has its times.
  virtual void date(Server& /*server*/, Push& /*push*/) const {}

  // Lists.

  /// @param call a `Listing`
  virtual void list(const Call& call) = 0;
  /// @return the server's own cursor.
  [[nodiscard]] virtual std::string_view cursor_at(const Server& server,
                                                   std::string_view cursor) const = 0;
  virtual void answered_page(Server& server, const Call& call, NamePage page) = 0;
};

}  // namespace mortise::redis
