// SPDX-License-Identifier: MIT
// The embedded backend: processes of one host share a directory, no server needed.
#pragma once

#include <mortise/backend.hpp>
#include <mortise/export.hpp>

#include <memory>
#include <string_view>

namespace mortise::file {

/// Opens `file:///absolute/directory` with parameters `create=yes|no` (no), `flush=yes|no` (no).
///
/// The directory must exist (or be created, mode 0700, with `create=yes`), belong to the user of
/// the process, be writable by nobody else, and lie on a local file system. See docs/file.md.
/// @errors `misconfigured` (the message names the directory or the parameter), thrown as
/// `LockError`
[[nodiscard]] MORTISE_API std::unique_ptr<Backend> backend(std::string_view url);

}  // namespace mortise::file
