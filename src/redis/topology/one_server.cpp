// SPDX-License-Identifier: MIT
#include "redis/topology/one_server.hpp"

#include "base/mutant.hpp"
#include "redis/store/listing.hpp"
#include "redis/store/polling.hpp"

#include <optional>
#include <utility>

namespace mortise::redis {

OneServer::OneServer(Parts& parts, std::unique_ptr<Server> server)
    : parts_(parts), server_(std::move(server)) {}

void OneServer::will_ask(const Acquisition::Request& request) {
  parts_.polling->open_inbox(*server_, request.attempt);
}

// Nothing was told while there was no inbox; and who was not queued for the lack of it is now. A
// try needs no inbox, and ends with its first answer: a second copy would come behind that, and
// take for nobody what was freed in between.
void OneServer::listens(Server& /*server*/) {
  for (const auto& operation : parts_.attempts.undecided()) {
    if (operation->request().wait || base::mutant("redis.inbox_repeats_tries")) {
      parts_.exchange->ask(operation);
    }
  }
}

void OneServer::list(const Call& call) {
  const auto& listing = call.listing();
  std::optional<ListCursor> cursor = ListCursor::parse(listing.cursor());
  if (!cursor) {
    call.operation->failed(
        {Errc::misconfigured,
         parts_.describe() + ": the cursor is invalid; pass the cursor of the previous page"});
  } else if (!cursor->left.empty() || cursor->ended) {
    answered_page(*server_, call, cursor->take(listing.limit(), listing.prefix()));
  } else {
    parts_.exchange->submit(call);
  }
}

void OneServer::answered_page(Server& /*server*/, const Call& call, NamePage page) {
  static_cast<Listing&>(*call.operation).answered(std::move(page));
}

}  // namespace mortise::redis
