// SPDX-License-Identifier: MIT
// The programs of PostgreSQL that are installed here, and how a test runs them: they refuse to be
// root, so that a test that is root lends them the user "postgres".
#pragma once

#include "model/process.hpp"

#include <string>
#include <vector>

namespace mortise::test {

/// @return the path of a server program ("postgres", "initdb") of the newest version here; empty:
/// there is none.
[[nodiscard]] std::string postgres_program(const std::string& name);

/// Starts a program by its path, as the user that servers run as. The kernel kills it with the
/// thread that started it; its words go to the end of `log`.
[[nodiscard]] model::Process start_as_server_user(const std::string& log,
                                                  const std::string& program,
                                                  const std::vector<std::string>& arguments,
                                                  const std::string& input = "/dev/null");
/// The same, and waits for its success. @throws std::runtime_error with its words
void run_as_server_user(const std::string& log, const std::string& program,
                        const std::vector<std::string>& arguments,
                        const std::string& input = "/dev/null");

/// Copies a directory, or makes an empty one where `from` is empty; nobody but the server's user
/// (and root) may look into it.
void give_to_server_user(const std::string& from, const std::string& to);
/// The same with a file.
void give_file_to_server_user(const std::string& from, const std::string& to);

}  // namespace mortise::test
