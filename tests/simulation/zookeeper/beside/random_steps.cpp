// SPDX-License-Identifier: MIT
#include "simulation/zookeeper/beside/random_steps.hpp"

#include "simulation/zookeeper/rights.hpp"

#include <array>

namespace simulation::zookeeper {
namespace {

constexpr const char* places[] = {"",     "/a",    "/a",    "/b",        "/b",     "/c",
                                  "/a/d", "/a/d",  "/a/e",  "/b/f",      "/b/f/g", "/a/d/h",
                                  "/q",   "/q/x-", "/c/x-", "/nowhere/x"};
constexpr const char* odd_paths[] = {"",   "nowhere", "//a",    "/a/",
                                     "/.", "/../a",   "/a\x01", "/\xc3\xa9"};
constexpr const char* proofs[] = {"anna:one", "bert:two"};

}  // namespace

RandomSteps::RandomSteps(std::uint64_t seed, std::string root, std::size_t sessions,
                         std::size_t servers)
    : random_(seed), root_(std::move(root)), sessions_(sessions), servers_(servers) {}

std::string RandomSteps::path() {
  if (one_in(60)) {
    const std::string odd = odd_paths[below(std::size(odd_paths))];
    return odd.starts_with('/') ? root_ + odd : odd;
  }
  std::string out = root_ + places[below(std::size(places))];
  // Nodes with numbers are likely to have low ones.
  if (out.ends_with("x-") && one_in(2)) out += "000000000" + std::to_string(below(6));
  return out;
}

std::string RandomSteps::data() { return std::string(below(4), static_cast<char>('a' + below(4))); }

std::int32_t RandomSteps::version() { return one_in(2) ? -1 : static_cast<std::int32_t>(below(3)); }

std::vector<Acl> RandomSteps::acl() {
  if (!one_in(12)) return {};
  const auto rights = static_cast<std::int32_t>(below(32));
  switch (below(6)) {
    case 0: return {{.rights = rights, .scheme = "auth"}};
    case 1: return {{.rights = rights, .scheme = "world", .id = "anyone"}};
    case 2: return {{.rights = rights, .scheme = "nobody", .id = "knows"}};
    case 3: return {{.rights = rights, .scheme = "digest", .id = "without"}};
    default:
      return {{.rights = rights, .scheme = "digest", .id = digest_of(proofs[below(2)])},
              {.rights = 31, .scheme = "digest", .id = digest_of(proofs[below(2)])}};
  }
}

std::pair<std::int32_t, Out> RandomSteps::creation(bool in_multi) {
  constexpr std::int32_t flags[] = {0, 0, 0, 0, 1, 1, 2, 3, 3, 4};
  const std::int32_t asked =
      one_in(40) ? static_cast<std::int32_t>(below(9)) : flags[below(std::size(flags))];
  constexpr std::int32_t types[] = {op::create, op::create_2, op::create_2};
  std::int32_t type = types[below(std::size(types))];
  if (asked == flag::container) type = op::create_container;
  // The real server fails to answer a step that makes a container of what is no container's.
  if (in_multi) type = op::create;
  Out body = create_body(path(), asked, data(), acl());
  return {type, std::move(body)};
}

std::pair<std::int32_t, Out> RandomSteps::change(bool in_multi) {
  switch (below(in_multi ? 7 : 8)) {
    case 0:
    case 1:
    case 2: return creation(in_multi);
    case 3:
    case 4: return {op::remove, version_body(path(), version())};
    case 5:
    case 6:
      if (in_multi && one_in(2)) return {op::check, version_body(path(), version())};
      return {op::set_data, data_body(path(), data(), version())};
    default: {
      if (!one_in(3)) return creation(false);
      Out body = path_body(path());
      const std::vector<Acl> wanted = acl();
      body.int32(static_cast<std::int32_t>(wanted.size()));
      for (const Acl& each : wanted) body.int32(each.rights).text(each.scheme).text(each.id);
      return {op::set_acl, body.int32(version())};
    }
  }
}

std::pair<std::int32_t, Out> RandomSteps::look() {
  switch (below(10)) {
    case 0:
    case 1: return {op::exists, watch_body(path(), one_in(2))};
    case 2:
    case 3: return {op::get_data, watch_body(path(), one_in(2))};
    case 4: return {op::get_children, watch_body(path(), one_in(2))};
    case 5: return {op::get_children_2, watch_body(path(), one_in(2))};
    case 6: return {op::get_acl, path_body(path())};
    case 7: return {op::sync, path_body(path())};
    case 8: {
      const std::int32_t type = one_in(2) ? op::remove_watches : op::check_watches;
      return {type, path_body(path()).int32(static_cast<std::int32_t>(1 + below(3)))};
    }
    default: return {op::ping, {}};
  }
}

// As the library has them: a run begins, with its node or on it, and ends; what is kept goes.
Out RandomSteps::multi_of_a_key() {
  const std::string kept = root_ + (one_in(2) ? "/a" : "/b");
  const std::string node = root_ + "/q/x-000000000" + std::to_string(below(6));
  Out out;
  switch (below(4)) {
    case 0:
      add_step(out, op::create, create_body(root_ + "/q/x-", flag::ephemeral_sequential, "label"));
      add_step(out, op::create, create_body(kept, flag::persistent, data()));
      break;
    case 1:
      add_step(out, op::check, version_body(node, -1));
      add_step(out, op::check, version_body(root_, version()));
      add_step(out, op::set_data, data_body(kept, data(), version()));
      break;
    case 2:
      add_step(out, op::set_data, data_body(kept, data(), version()));
      add_step(out, op::remove, version_body(node, -1));
      break;
    default:
      add_step(out, op::set_data, data_body(root_, "", version()));
      add_step(out, op::remove, version_body(kept, version()));
  }
  end_steps(out);
  return out;
}

Out RandomSteps::multi() {
  if (one_in(3)) return multi_of_a_key();
  Out out;
  for (std::size_t left = below(5); left > 0; --left) {
    const auto [type, body] = change(true);
    add_step(out, type, body);
  }
  end_steps(out);
  return out;
}

std::pair<std::int32_t, Out> RandomSteps::request() {
  if (one_in(12)) return {op::multi, multi()};
  return one_in(2) ? change(false) : look();
}

Step RandomSteps::next() {
  Step out{.who = below(sessions_), .server = below(servers_)};
  if (one_in(1000)) {  // takes two seconds
    out.kind = Step::Kind::expire;
    out.requests.push_back(creation(false));
    out.requests.push_back(look());
  } else if (one_in(60)) {
    out.kind = Step::Kind::end;
  } else if (one_in(50)) {
    out.kind = Step::Kind::move;
    out.back = static_cast<std::int64_t>(below(6));
    for (auto& list : out.watches) {
      for (std::size_t left = below(3); left > 0; --left) list.push_back(path());
    }
  } else if (one_in(60)) {
    // Alone: its answer does not wait for others.
    out.requests.emplace_back(op::auth,
                              Out().int32(0).text("digest").text(proofs[below(std::size(proofs))]));
  } else {
    for (std::size_t left = 1 + below(4); left > 0; --left) {
      out.requests.push_back(request());
      // By which ACL the next one is judged depends on how fast the server's disk is.
      if (out.requests.back().first == op::set_acl) break;
    }
  }
  requests_ += std::max<std::size_t>(1, out.requests.size());
  return out;
}

}  // namespace simulation::zookeeper
