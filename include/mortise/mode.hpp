// SPDX-License-Identifier: MIT
// How a name is held: by one owner, by many readers, as a key, or by a number of owners.
#pragma once

#include <cstdint>

namespace mortise {

/// How a name is to be held. A backend answers `unsupported` to a mode that it does not know.
///
/// `exclusive` and `shared` are about the same names, and wait in the same queue.
enum class Mode : std::uint8_t {
  exclusive,  ///< a lock: one owner, and nobody beside it
  once,       ///< a key of `Once`: names of this mode are a space of their own
  shared,  ///< a reader: any number of them, and no exclusive owner (`Capabilities::shared_mode`)
  permit,  ///< one of a semaphore's: a space of its own (`Capabilities::permits`)
};

}  // namespace mortise
