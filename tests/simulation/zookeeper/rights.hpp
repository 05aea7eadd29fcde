// SPDX-License-Identifier: MIT
// Who may do what with a node: the schemes "world", "auth" and "digest". (A model knows no
// addresses: an ACL of the scheme "ip" is refused as one of a scheme that the server does not
// have.)
#pragma once

#include "simulation/zookeeper/jute.hpp"
#include "simulation/zookeeper/node.hpp"
#include "simulation/zookeeper/request.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace simulation::zookeeper {

/// @return whether one of the rights is given to one of them.
[[nodiscard]] bool permitted(const Acls& acl, std::int32_t rights, const Identities& who);

/// @return the ACL as it is stored for a node; nullptr: it is none that can be
[[nodiscard]] Acls stored_acl(const std::vector<Acl>& asked, const Identities& who);

/// @param proof "user:password"
/// @return "user:" and the base64 of the SHA-1 of all of it, as the server stores it
[[nodiscard]] std::string digest_of(std::string_view proof);

[[nodiscard]] std::vector<Acl> read_acl(In& in);
/// @param blind digests are not shown.
void write_acl(Out& out, const Acls& acl, bool blind);

}  // namespace simulation::zookeeper
