// SPDX-License-Identifier: MIT
// Redis under a crowd of one client: calls that are under way at the same time, and waits at rest.
#pragma once

#include "placement.hpp"

#include <cstddef>

namespace mortise::bench {

/// Grants per second, if so many names are taken and released all the time by one thread through
/// the backend. @throws std::runtime_error if a request fails or the client connects again
[[nodiscard]] double redis_outstanding(Mode mode, std::size_t calls);

/// Script calls per second of a client while 10,000 of its threads wait for names that another
/// client holds. The first second after the last one has joined its queue does not count.
/// @param stands_still the server is stopped for 3 s before that
/// @throws std::runtime_error if a wait fails
[[nodiscard]] double redis_ten_thousand_waits(Mode mode, bool stands_still);

}  // namespace mortise::bench
