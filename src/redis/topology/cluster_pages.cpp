// SPDX-License-Identifier: MIT
#include "redis/topology/cluster_pages.hpp"

#include "redis/store/listing.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::redis {

// A master that this client has not met yet is not left out. So the cluster is asked for its
// masters before the first page. A client that does nothing else is told of no change, and a master
// that was replaced has a page without a name.
void ClusterPages::list(const Call& call) {
  constexpr std::chrono::milliseconds pause{10};
  const auto operation = std::static_pointer_cast<Listing>(call.operation);
  const bool begins = operation->cursor().empty();
  if (!cluster_.is_told(begins ? call.since : Instant::min())) {
    if (Failure why = cluster_.refusal()) return operation->failed(std::move(why));
    survey_.want();
    return parts_.exchange->repeat_at(call, parts_.now() + pause);
  }
  const ClusterCursor where = ClusterCursor::parse(operation->cursor());
  const std::vector<Server*> masters = cluster_.masters();
  const auto at = std::find_if(masters.begin(), masters.end(), [&](const Server* each) {
    return each->identity().address().text() >= where.server;
  });
  if (at == masters.end()) return operation->answered({});
  Server& server = **at;
  std::optional<ListCursor> cursor =
      ListCursor::parse(where.at(server.identity().address().text()));
  const bool of_ours = !where.server.empty() || where.at_server.empty();
  if (!cursor || !of_ours) {
    operation->failed(
        {Errc::misconfigured,
         parts_.describe() + ": the cursor is invalid; pass the cursor of the previous page"});
  } else if (!cursor->left.empty() || cursor->ended) {
    answered(server, Call::made(Call::Kind::list, operation),
             cursor->take(operation->limit(), operation->prefix()));
  } else {
    Call page = call;
    page.route.at = &server;
    parts_.exchange->submit(std::move(page));
  }
}

// A server that has none leads to the next one.
void ClusterPages::answered(Server& server, const Call& call, NamePage page) {
  const std::string here = server.identity().address().text();
  Server* next = nullptr;
  if (page.cursor.empty()) {
    for (Server* const each : cluster_.masters()) {
      if (each->identity().address().text() <= here) continue;
      next = each;
      break;
    }
  }
  if (next != nullptr && page.names.empty()) {
    Call more = call;
    more.written.whole = false;
    more.route.at = next;
    return parts_.exchange->submit(std::move(more));
  }
  const std::string there = next == nullptr ? here : next->identity().address().text();
  if (next != nullptr || !page.cursor.empty()) {
    page.cursor = ClusterCursor{.server = there, .at_server = page.cursor}.text();
  }
  static_cast<Listing&>(*call.operation).answered(std::move(page));
}

std::string_view ClusterPages::cursor_at(const Server& server, std::string_view cursor) {
  return ClusterCursor::parse(cursor).at(server.identity().address().text());
}

}  // namespace mortise::redis
