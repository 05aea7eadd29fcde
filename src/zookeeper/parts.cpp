// SPDX-License-Identifier: MIT
#include "zookeeper/parts.hpp"

#include "core/figures.hpp"
#include "zookeeper/lock_path.hpp"
#include "zookeeper/session.hpp"

#include <charconv>

namespace mortise::zookeeper {

Failure Parts::failure_of(const Reply& reply, const std::string& what) const {
  const std::string words = what + ": " + words_of(reply);
  switch (reply.code) {
    case Code::denied:
    case Code::no_user: return failure(Errc::denied, words);
    case Code::local: return failure(Errc::misconfigured, words);
    case Code::quota: return failure(Errc::exhausted, words);
    case Code::unsupported: return failure(Errc::unsupported, words);
    case Code::not_done:
    case Code::unknown:
    case Code::ended: return failure(Errc::unavailable, words);
    case Code::ok:
    case Code::no_node:
    case Code::exists:
    case Code::not_empty:
    case Code::other_version:
    case Code::ephemeral:
    case Code::wrong: break;
  }
  return failure(Errc::protocol, words);
}

Failure Parts::other_name(const std::string& node) const {
  return failure(Errc::protocol,
                 node +
                     ": the node does not contain the requested name; another name or another "
                     "program uses it");
}

Failure Parts::other_record(const std::string& node, bool is_record) const {
  return failure(Errc::protocol, node + (is_record ? ": this record belongs to another key"
                                                   : ": this node is not a record of Mortise"));
}

std::optional<Failure> Parts::too_short(std::chrono::nanoseconds lease,
                                        const Session& session) const {
  if (lease >= session.timeout()) return std::nullopt;
  const auto asked = std::chrono::duration_cast<std::chrono::milliseconds>(lease);
  return failure(Errc::misconfigured,
                 "the session timeout is " + std::to_string(session.timeout().count()) +
                     " ms, which is longer than the lease of " + std::to_string(asked.count()) +
                     " ms; lower session in the URL, or raise the lease");
}

void Parts::ask_for_time(Session& session, bool precisely) const {
  if (!precisely && !session.leaders_clock().is_old(now())) return;
  session.ask({Ask::set, keys_path(settings.root)}, {});
}

std::chrono::nanoseconds pause_of_refused(const Session& session) {
  constexpr int parts_of_session = 6;
  return std::min<std::chrono::nanoseconds>(after_a_refusal, session.timeout() / parts_of_session);
}

Holder holder_of(const Reply& reply, std::string_view node, std::size_t waiters) {
  const std::string_view name = node.substr(node.rfind('/') + 1);
  const auto standing = Standing::of(name);
  const bool shared = standing && standing->shared;
  const bool permit = !standing && name.find("-lease-") != std::string_view::npos;
  auto number = static_cast<std::uint64_t>(reply.czxid);
  // The mark of a reader that was the owner before is the number of the owner's grant.
  const std::string_view mark = shared ? mark_in(name) : std::string_view();
  static_cast<void>(std::from_chars(mark.data(), mark.data() + mark.size(), number, 16));
  const std::string_view label = reply.text == revoked ? std::string_view() : reply.text;
  return {.label = std::string(label.substr(0, core::longest_label)),
          .token = Token(number * core::tokens_in_a_grant),
          .expires_in = {},
          .waiters = waiters,
          .mode = shared   ? Mode::shared
                  : permit ? Mode::permit
                           : Mode::exclusive};
}

}  // namespace mortise::zookeeper
