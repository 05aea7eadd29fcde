// SPDX-License-Identifier: MIT
#include "redis/topology/agreement.hpp"

#include <algorithm>
#include <utility>

namespace mortise::redis {
namespace {

/// Enough of them to find them with CLUSTER NODES.
std::string words_of_nodes(const NodeIds& nodes) {
  constexpr std::size_t enough = 3;
  constexpr std::size_t digits = 8;
  std::string text = nodes.size() == 1 ? "node" : "nodes";
  std::size_t named = 0;
  for (const std::string& id : nodes) {
    if (named++ == enough) return text + " ...";
    text += " " + id.substr(0, digits);
  }
  return text;
}

std::vector<std::string> texts_of(const std::vector<base::Address>& addresses) {
  std::vector<std::string> texts;
  for (const base::Address& each : addresses) texts.push_back(each.text());
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  return texts;
}

std::string text_of(const Server& server) { return server.identity().address().text(); }

auto seed_of(const std::vector<base::Address>& seeds, const std::string& text) {
  return std::find_if(seeds.begin(), seeds.end(),
                      [&](const base::Address& seed) { return seed.text() == text; });
}

}  // namespace

Agreement::Agreement(const std::vector<base::Address>& seeds)
    : seeds_(seeds), membership_(texts_of(seeds)) {}

void Agreement::begin_round() {
  membership_.begin_round();
  said_.clear();
  unusable_ = {};
}

Agreement::Verdict Agreement::judge(const Server& server, SlotTable table,
                                    const std::vector<std::string>& known) {
  const auto kind = membership_.answered(text_of(server), table.nodes, table.masters, known);
  return verdict(kind, server, std::move(table));
}

Agreement::Verdict Agreement::judge_silence(const Server& server,
                                            const std::vector<std::string>& known) {
  return verdict(membership_.silent(text_of(server), known), server, {});
}

Failure Agreement::refuses(const Server& server, const SlotTable& table,
                           const std::vector<std::string>& known) {
  return is_reached() ? judge(server, table, known).why : Failure{};
}

Agreement::Verdict Agreement::verdict(Membership::Verdict kind, const Server& server,
                                      SlotTable table) {
  Verdict verdict{.kind = kind};
  switch (kind) {
    case Membership::Verdict::ours: verdict.table = std::move(table); break;
    case Membership::Verdict::undecided:
      if (!is_reached()) said_[text_of(server)] = std::move(table);
      break;
    case Membership::Verdict::none: verdict.why = why_none_ = unusable_; break;
    case Membership::Verdict::foreign: verdict.why = foreign(server, table.nodes); break;
    case Membership::Verdict::split: verdict.why = why_none_ = split(); break;
    case Membership::Verdict::agreed:
      said_[text_of(server)] = std::move(table);
      verdict.table = std::move(said_[membership_.chosen()]);
      said_.clear();
      why_none_ = {};
  }
  return verdict;
}

const base::Address& Agreement::chosen() const noexcept {
  return *seed_of(seeds_, membership_.chosen());
}

// If another server has got the address of a master, the cluster replaces that master, as a rule.
// An address in the URL stays wrong. The exception: the server names a master that this client
// knows. Then the other servers may have been replaced.
Failure Agreement::foreign(const Server& server, const NodeIds& nodes) const {
  const bool named = seed_of(seeds_, text_of(server)) != seeds_.end();
  const bool wrong = named && !membership_.knows_a_master_of(nodes);
  return {wrong ? Errc::misconfigured : Errc::unavailable,
          server.where() + ": the server belongs to another cluster (" + words_of_nodes(nodes) +
              "); this client uses the cluster of " + words_of_nodes(membership_.members()) +
              (wrong ? "; correct this address in the URL" : "")};
}

Failure Agreement::split() const {
  std::string text = "the servers in the URL belong to several clusters";
  char separator = ':';
  for (const auto& [server, nodes] : membership_.others()) {
    text += separator;
    text += " redis " + server + " (" + words_of_nodes(nodes) + ")";
    separator = ',';
  }
  text += "; name servers of one cluster only";
  return {Errc::misconfigured, std::move(text)};
}

Failure Agreement::stranger() const {
  if (!is_reached()) return {};
  for (const base::Address& seed : seeds_) {
    const auto found = membership_.others().find(seed.text());
    if (found == membership_.others().end()) continue;
    return {Errc::misconfigured, "redis " + seed.text() +
                                     ": the server belongs to another cluster (" +
                                     words_of_nodes(found->second) +
                                     ") than the other servers in the URL; correct this address"};
  }
  return {};
}

}  // namespace mortise::redis
