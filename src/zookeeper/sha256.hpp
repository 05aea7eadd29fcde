// SPDX-License-Identifier: MIT
// The digest that stands for bytes which are too long for the place that they are needed in. Nobody
// can find two texts with one digest; what stands for less than the whole digest is up to the user.
#pragma once

#include <string>
#include <string_view>

namespace mortise::zookeeper {

/// @return the SHA-256 of these bytes: 64 digits of 0-9 and a-f.
/// @throws std::bad_alloc also where OpenSSL gives no reason
[[nodiscard]] std::string sha256(std::string_view bytes);

}  // namespace mortise::zookeeper
