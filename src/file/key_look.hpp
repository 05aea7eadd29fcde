// SPDX-License-Identifier: MIT
// What is remembered of a key, asked by somebody who does not want to run it.
#pragma once

#include <mortise/error.hpp>
#include <mortise/record.hpp>

#include "file/directory.hpp"

#include <memory>
#include <string>

namespace mortise::file {

/// Reads the record of a key, and whether it is held, without its lock and without making a file.
/// @param out never null where it succeeds
[[nodiscard]] Failure look_at_key(const Directory& directory, const std::string& key,
                                  std::shared_ptr<const mortise::Record>& out);

}  // namespace mortise::file
