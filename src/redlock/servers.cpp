// SPDX-License-Identifier: MIT
#include "redlock/servers.hpp"

#include "base/farewell.hpp"
#include "base/mutant.hpp"
#include "base/one_by_one.hpp"
#include "remote/outbox.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace mortise::redlock {
namespace {

constexpr std::string_view led_astray =
    "leads to the same server as another address; connecting again";

}  // namespace

Servers::Servers(const Settings& settings, Host& host, const CallWriter& writer,
                 const remote::Tls* tls, Node::User& node_user, Line::User& server_user)
    : words_(settings.text()),
      clock_(host.clock()),
      writer_(writer),
      shared_{.nodes = nodes_, .writer = writer_, .clock = clock_, .user = server_user},
      whereabouts_(settings.nodes.size()) {
  for (const redis::Settings& node : settings.nodes) {
    nodes_.push_back(std::make_unique<Node>(nodes_.size(), host, node, tls, node_user));
    Server& unknown = add(unmet(nodes_.size() - 1), Instant::min());
    unknown.begin_at(*nodes_.back());
    nodes_.back()->lead_to(unknown);
  }
}

// Under the mutex, but for the first ones.
Server& Servers::add(std::uint64_t id, Instant met) {
  auto link = std::make_unique<const Link>(
      Link{.server = std::make_unique<Server>(shared_, id, met), .next = first_.load()});
  const Link& added = *link;
  links_.push_back(std::move(link));
  first_.store(&added);
  return *added.server;
}

NodeSet Servers::usable() const noexcept {
  NodeSet set = 0;
  for (const auto& node : nodes_) {
    if (node->usable()) set |= only(node->index());
  }
  return set;
}

void Servers::want_missing(NodeSet usable, bool now) const {
  each_of(~usable, [now](Node& node) { node.want(now); });
}

void Servers::begin(Roll& roll) const {
  roll.begin();
  for (const auto& node : nodes_) {
    const std::uint64_t generation =
        node->commands().calls().generation();  // first: it grows when one ends
    roll.connected(node->commands().up() ? generation : 0);
  }
}

// Even if another address leads to the same server the address stays connected, and holds are
// renewed by both. In each request the answers of a server count once.
Server& Servers::arrived(Node& node, const std::string& run_id) {
  const std::uint64_t id = server_of(run_id);
  const Instant now = clock_->now();
  Server* known = nullptr;
  {
    const std::lock_guard lock(mutex_);
    each([&](Server& server) {
      if (server.id() == id) known = &server;
    });
    if (known == nullptr) known = &add(id, now);
  }
  whereabouts_.arrived(node.index(), run_id, now);
  settle_doubts();
  return *known;
}

// A server that is met for the first time may be one that was restarted.
void Servers::connected(Node& node) {
  Server& server = node.server();
  base::OneByOne each_of;
  each_of([&] { server.connected(node); });
  if (server.begins()) {
    each([&](Server& other) {
      if (&other != &server && !other.is_reachable()) each_of([&] { server.inherit(other); });
    });
  }
  each_of.finish();
}

void Servers::settle_doubts() {
  if (!whereabouts_.clear()) lead_anew(whereabouts_.doubt(clock_->now()));
}

void Servers::lead_home() {
  if (!is_home_wanted()) return;
  NodeSet astray = 0;
  for (const auto& node : nodes_) {
    // A doubtful address that cannot be used already gets a new connection.
    const std::size_t index = node->index();
    const bool is_led = whereabouts_.in_doubt(index) && !node->usable();
    if (whereabouts_.astray(index) && !is_led) astray |= only(index);
  }
  whereabouts_.distrust(astray);
  lead_anew(astray);
}

// An address stays in doubt until the client connects to it again. If this function left an address
// out, no later call would return to it.
void Servers::lead_anew(NodeSet doubted) const noexcept {
  each_of(doubted, [](Node& node) {
    Failure why(Errc::unavailable, "another server");  // so short that it needs no memory
    base::without_memory([&] { why.text = node.where() + ": " + std::string(led_astray); });
    node.connect_anew(why, true);
    node.want(true);
  });
}

void Servers::take_back(const std::shared_ptr<Ballot>& ballot) const {
  base::OneByOne each_of;
  each([&](Server& server) {
    if (!server.may_have(ballot->id())) return;
    server.take_back(ballot);
    each_heir(server, ballot->begun,
              [&](Server& heir) { each_of([&] { heir.take_back_unasked(ballot); }); });
  });
  each_of.finish();
}

void Servers::take_back_everywhere(const std::shared_ptr<Ballot>& ballot) const {
  base::OneByOne each_of;
  for (const auto& node : nodes_) {
    each_of([&] { node->server().take_back_unasked(ballot); });
  }
  each_of.finish();
}

void Servers::end_waits(const std::shared_ptr<Ballot>& ballot) const {
  base::OneByOne each_of;
  for (const auto& node : nodes_) {
    if (!node->usable() || node->server().may_have(ballot->id())) continue;
    each_of([&] { node->server().end_wait(ballot); });
  }
  each_of.finish();
}

std::size_t Servers::voters(std::span<const AttemptId> ballots) const {
  std::size_t all = 0;
  each([&](const Server& server) {
    const bool any = std::any_of(ballots.begin(), ballots.end(),
                                 [&](const AttemptId& ballot) { return server.may_have(ballot); });
    all += any ? 1U : 0U;
  });
  return all;
}

NodeSet Servers::others(const AttemptId& ballot) const {
  const std::size_t asked = voters({&ballot, 1});
  NodeSet others = 0;
  for (const auto& node : nodes_) {
    const bool is_free = !node->server().may_have(ballot);
    if (is_free && count(others) + asked < nodes_.size()) others |= only(node->index());
  }
  return others;
}

bool Servers::replaces_a_voter(const Node& node, const AttemptId& ballot) const {
  bool replaces = false;
  each([&](const Server& server) {
    replaces =
        replaces || (!server.is_reachable() && server.was_at(node) && server.may_have(ballot));
  });
  return replaces;
}

bool Servers::is_any_owed() const {
  bool owed = false;
  each([&](Server& server) { owed = owed || server.is_owed(); });
  return owed;
}

Failure Servers::twins() const {
  if (whereabouts_.clear()) return {};
  const std::optional<Whereabouts::Twins> two = whereabouts_.twins(clock_->now());
  if (!two) return {Errc::unavailable, "two addresses led to one server; connecting to both again"};
  return {Errc::misconfigured, nodes_[two->first]->where() + " and " +
                                   nodes_[two->second]->where() +
                                   " are one server (same run_id), which has one vote; name each "
                                   "server once"};
}

Failure Servers::unreachable(const std::vector<Failure>& failures, bool& final) const {
  const Instant now = clock_->now();
  const auto is_stale = [now](Instant found) {
    return now - found > news_for && !base::mutant("redlock.stale_verdict");
  };
  std::size_t failed = 0;
  std::size_t finally = 0;
  Failure first;
  Failure first_final;
  for (const auto& node : nodes_) {
    Failure why = node->usable() ? Failure{} : node->why();
    const bool old = why && is_stale(node->failed_at());
    if (!why && !failures.empty()) why = failures[node->index()];
    if (!why) continue;
    ++failed;
    if (!first) first = why;
    if (old || !remote::is_final(why)) continue;
    ++finally;
    if (!first_final || why.code == Errc::misconfigured) first_final = why;
  }
  if (const Failure doubled = twins()) {
    final = doubled.code == Errc::misconfigured;
    return {final ? Errc::misconfigured : Errc::unavailable, words_ + ": " + doubled.text};
  }
  final = finally >= quorum().blocking();
  if (failed < quorum().blocking()) return {};
  const Failure& told = final ? first_final : first;
  const auto code = static_cast<Errc>(told.code.value());
  return {final || code == Errc::exhausted ? code : Errc::unavailable,
          words_ + ": " + std::to_string(failed) + " of " + std::to_string(nodes_.size()) +
              " servers cannot be used; " + told.text};
}

void Servers::tell_trouble(Operation& operation) const {
  bool final = false;
  if (Failure why = unreachable({}, final)) operation.trouble(std::move(why));
}

}  // namespace mortise::redlock
