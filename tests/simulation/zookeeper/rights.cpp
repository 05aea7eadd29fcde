// SPDX-License-Identifier: MIT
#include "simulation/zookeeper/rights.hpp"

#include "simulation/zookeeper/tree.hpp"

#include <openssl/evp.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>

namespace simulation::zookeeper {
namespace {

bool anyone(const Acl& acl) { return acl.scheme == "world" && acl.id == "anyone"; }

// "user:digest", both of them there.
bool well_formed(const std::string& id) {
  const std::size_t colon = id.find(':');
  return colon != std::string::npos && colon + 1 < id.size() &&
         id.find(':', colon + 1) == std::string::npos;
}

}  // namespace

bool permitted(const Acls& acl, std::int32_t rights, const Identities& who) {
  if (!acl || acl->empty()) return true;
  return std::any_of(acl->begin(), acl->end(), [&](const Acl& each) {
    if ((each.rights & rights) == 0) return false;
    if (anyone(each)) return true;
    return who && std::find(who->begin(), who->end(),
                            Identity{.scheme = each.scheme, .id = each.id}) != who->end();
  });
}

Acls stored_acl(const std::vector<Acl>& asked, const Identities& who) {
  if (asked.size() == 1 && asked.front() == open_acl()->front()) return open_acl();
  std::vector<Acl> out;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const Acl& acl = asked[i];
    const auto end = asked.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(asked.begin(), end, acl) != end) continue;
    if (anyone(acl)) {
      out.push_back(acl);
    } else if (acl.scheme == "auth") {
      if (!who || who->empty()) return nullptr;
      for (const Identity& each : *who) {
        out.push_back({.rights = acl.rights, .scheme = each.scheme, .id = each.id});
      }
    } else if (acl.scheme == "digest" && well_formed(acl.id)) {
      out.push_back(acl);
    } else {
      return nullptr;
    }
  }
  return out.empty() ? nullptr : std::make_shared<const std::vector<Acl>>(std::move(out));
}

std::string digest_of(std::string_view proof) {
  std::array<unsigned char, SHA_DIGEST_LENGTH> hash{};
  SHA1(reinterpret_cast<const unsigned char*>(proof.data()), proof.size(), hash.data());
  std::array<unsigned char, 4 * (SHA_DIGEST_LENGTH / 3 + 1) + 1> text{};
  const int size = EVP_EncodeBlock(text.data(), hash.data(), SHA_DIGEST_LENGTH);
  std::string out(proof.substr(0, proof.find(':')));
  out.push_back(':');
  out.append(text.begin(), text.begin() + size);
  return out;
}

std::vector<Acl> read_acl(In& in) {
  std::vector<Acl> out;
  for (std::int32_t left = in.int32(); left > 0; --left) {
    Acl acl;
    acl.rights = in.int32();
    acl.scheme = in.text();
    acl.id = in.text();
    out.push_back(std::move(acl));
  }
  return out;
}

void write_acl(Out& out, const Acls& acl, bool blind) {
  out.int32(static_cast<std::int32_t>(acl->size()));
  for (const Acl& each : *acl) {
    out.int32(each.rights).text(each.scheme);
    const bool hidden = blind && each.scheme == "digest";
    out.text(hidden ? each.id.substr(0, each.id.find(':')) + ":x" : each.id);
  }
}

}  // namespace simulation::zookeeper
