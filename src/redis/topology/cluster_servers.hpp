// SPDX-License-Identifier: MIT
// A client of the servers of a cluster. Each has some of the names, and gives them to another one
// while they are held and waited for. A lock and the keys next to it go with its slot as a whole.
// What a client knows of an attempt does not depend on who has it; only the clock that a time was
// told by does, and the channel on which it is told of grants.
#pragma once

#include "redis/topology/cluster.hpp"
#include "redis/topology/cluster_inboxes.hpp"
#include "redis/topology/cluster_pages.hpp"
#include "redis/topology/slot_survey.hpp"
#include "redis/topology/topology.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace mortise::redis {

/// @thread_safety every member may be called concurrently
class ClusterServers final : public Topology, public Exchange::Routes {
 public:
  /// @param parts outlive it
  ClusterServers(Parts& parts, Cluster::Make make);

  [[nodiscard]] Server& server_of(std::string_view name) const noexcept override {
    return cluster_.server_of(name);
  }
  [[nodiscard]] Server& server_of(const Call& call) const noexcept override {
    return call.route.at != nullptr ? *call.route.at : cluster_.server_of(call.name());
  }
  [[nodiscard]] Server* nth(std::size_t number) const noexcept override {
    return cluster_.nth(number);
  }
  // A script has keys of one slot.
  [[nodiscard]] bool takes_several_names() const noexcept override { return false; }

  // Exchange::Routes
  [[nodiscard]] std::uint64_t version() const noexcept override { return cluster_.version(); }
  [[nodiscard]] bool is_settled() const noexcept override { return cluster_.is_agreed(); }
  void use(Server& server, const Call& call) override;
  // A list goes on by what is known of the masters now: the one that was asked may be gone for
  // good.
  [[nodiscard]] bool sends_instead(Call& call) override {
    if (call.kind != Call::Kind::list) return false;
    pages_.list(call);
    return true;
  }
  void lost(Server& server, Exchange::Calls& calls) override;
  void lost_route(Server& server) override { survey_.silent(server); }

  void begin() override { static_cast<void>(cluster_.want_look(parts_.now())); }
  [[nodiscard]] Instant due() const noexcept override { return cluster_.next_look(); }
  void look(Instant now) override { survey_.look(now); }

  [[nodiscard]] Failure refuses(Server& server, const SlotTable& table) override {
    return survey_.refuses(server, table);
  }
  [[nodiscard]] bool is_needed(const Failure& why) override;
  void answered_route(Server& server, const Reply& reply) override {
    survey_.answered(server, reply);
  }
  [[nodiscard]] bool redirects(Server& server, const Call& call, const Reply& reply,
                               ServerError& error) override;
  [[nodiscard]] Failure stranger() const override { return cluster_.stranger(); }

  [[nodiscard]] bool may_wait(const Server& /*server*/) const noexcept override { return true; }
  void waits(Server& server, const Acquisition::Request& request) override {
    inboxes_.waits(server, request);
  }
  void listens(Server& server) override { inboxes_.opened(server); }
  [[nodiscard]] bool takes_message(Server& server, const Reply& message) override {
    return inboxes_.takes_message(server, message);
  }
  [[nodiscard]] bool takes_refusal(Server& server, const ServerError& error,
                                   const std::string& words) override;
  void date(Server& server, Push& push) const override { inboxes_.date(server, push); }

  void list(const Call& call) override { pages_.list(call); }
  [[nodiscard]] std::string_view cursor_at(const Server& server,
                                           std::string_view cursor) const override {
    return ClusterPages::cursor_at(server, cursor);
  }
  void answered_page(Server& server, const Call& call, NamePage page) override {
    pages_.answered(server, call, std::move(page));
  }

 private:
  [[nodiscard]] bool redirected(Server& server, const Call& call, const std::string& words);

  Parts& parts_;
  Cluster cluster_;
  SlotSurvey survey_{parts_, cluster_};
  ClusterInboxes inboxes_{parts_, cluster_, survey_};
  ClusterPages pages_{parts_, cluster_, survey_};
};

}  // namespace mortise::redis
