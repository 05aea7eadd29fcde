// SPDX-License-Identifier: MIT
// A command as the bytes that go to the server.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace mortise::redis {

/// Appends a command and its arguments, any bytes, in the server's protocol.
void append_command(std::string& out, std::span<const std::string_view> words);

}  // namespace mortise::redis
