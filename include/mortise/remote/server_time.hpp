// SPDX-License-Identifier: MIT
// For authors of stores: the time of a server.
#pragma once

#include <mortise/export.hpp>

#include <chrono>

namespace mortise::remote {

/// A moment by the clock of a server, in microseconds from a zero of the server's choice.
///
/// For a `Protocol`, this clock must never jump: take a steady clock and not the time of day. A
/// server that starts again may begin at another zero, because it also has another
/// `Message::server`.
using ServerTime = std::chrono::microseconds;

}  // namespace mortise::remote
