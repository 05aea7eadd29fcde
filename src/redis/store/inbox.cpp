// SPDX-License-Identifier: MIT
#include "redis/store/inbox.hpp"

#include "base/one_by_one.hpp"
#include "redis/store/lock_key.hpp"
#include "redis/store/server_error.hpp"
#include "redis/topology/topology.hpp"

#include <optional>
#include <utility>

namespace mortise::redis {

void Inbox::pushed(Server& server, const Reply& message) {
  if (message.is_error()) return refused(server, message.text);
  if (message.kind != Reply::Kind::array || message.items.size() != 3) return;
  if (parts_.topology->takes_message(server, message)) return;
  const std::string& kind = message.items[0].text;
  const std::string& channel = message.items[1].text;
  if (kind != "message" && kind != "smessage") return subscribed(server, kind, channel);
  std::optional<Push> push = Push::parse(message.items[2].text);
  if (!push) {
    if (parts_.redisson != nullptr) parts_.redisson->heard_of(channel);
    return;
  }
  push->clock = server.inbox().state().clock();
  switch (push->kind) {
    case Push::Kind::granted: return granted(server, *std::move(push));
    case Push::Kind::look:
      if (push->number != 0) parts_.attempts.concluded(push->attempt, push->number);
      if (const auto operation = parts_.attempts.find(push->attempt)) {
        parts_.exchange->ask(operation);
      }
      return;
    case Push::Kind::taken: return taken(*push);
  }
}

void Inbox::subscribed(Server& server, const std::string& kind, const std::string& channel) {
  if (channel == server.inbox().channel()) {
    server.inbox().state().end_probe();
  } else if (parts_.redisson == nullptr) {
    return;
  } else if (kind == "unsubscribe") {
    parts_.redisson->hearing().ended(channel);
  } else {
    // What was said before it listened was told to nobody; and only by asking once more the server
    // learns that it is one of ours who listens.
    parts_.redisson->heard_of(channel);
  }
}

// What it was told is not done: a server that is busy with a script takes no UNSUBSCRIBE either,
// and went on counting a client that had left among those who wait. The next connection begins with
// what is wanted by then. A client that may not listen to a channel does without.
void Inbox::refused(Server& server, const std::string& words) {
  const ServerError error = server_error(server.where(), words);
  if (parts_.topology->takes_refusal(server, error, words)) return;
  if (error.kind != ServerError::Kind::final) server.inbox().mark_broken(error.failure);
}

void Inbox::granted(Server& server, Push push) {
  if (push.key.ends_with(once_sign)) return;  // no script says that
  parts_.topology->date(server, push);
  const Attempts::Verdict verdict = parts_.attempts.granted(push);
  switch (verdict.kind) {
    case Attempts::Verdict::Kind::believe:
      return grants_.believe(verdict.operation, push, verdict.reading);
    case Attempts::Verdict::Kind::known: return;
    case Attempts::Verdict::Kind::too_early:
      if (push.clock != 0) return;  // with the reply that is under way
      [[fallthrough]];
    case Attempts::Verdict::Kind::unreadable: return parts_.exchange->ask(verdict.operation);
    case Attempts::Verdict::Kind::unwanted: break;
  }
  if (std::optional<Named> named = named_by(parts_.settings.prefix, push.key)) {
    parts_.exchange->give_back(
        Release::undo({std::move(named->name), push.attempt, push.number, named->mode}),
        push.lease);
  }
}

void Inbox::taken(const Push& push) {
  const std::optional<Named> named = named_by(parts_.settings.prefix, push.key);
  if (!named) return;
  const Mode mode = named->mode == Mode::exclusive ? push.mode : named->mode;
  parts_.host.hold_lost({named->name, push.attempt, push.number, mode},
                        {Errc::lost, named->name + ": released by force"});
}

// A client that may not listen may still take a lock that is free. So the server answers first: an
// attempt that would have to wait fails by its answer, with the reason why there is no inbox.
void Inbox::lost(const Server& server, bool final) {
  if (parts_.redisson != nullptr) parts_.redisson->hearing().forget();
  if (!final) return;
  base::OneByOne each;
  for (const auto& operation : parts_.attempts.undecided()) {
    const Acquisition::Request& request = operation->request();
    if (!request.wait || &parts_.topology->server_of(request.name) != &server) continue;
    each([&] { parts_.exchange->ask(operation); });
  }
  each.finish();
}

}  // namespace mortise::redis
