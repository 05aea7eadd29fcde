// SPDX-License-Identifier: MIT
// What users call to open a backend and to make its schema: include/mortise/postgres.hpp.
#include <mortise/postgres.hpp>

#include "postgres/postgres_backend.hpp"
#include "postgres/server_error.hpp"
#include "postgres/sql.hpp"
#include "postgres/statements.hpp"
#include "remote/dialer.hpp"

#include <utility>

namespace mortise::postgres {
namespace {

/// @return a role's name as a quoted identifier of SQL, which keeps every character as it is.
/// @throws Error (`misconfigured`) where no role can have that name
std::string quoted_role(const std::string& role) {
  constexpr std::size_t longest = 63;  // the server would cut the name, and mean another role
  const auto refuse = [](const std::string& words) {
    throw Error({Errc::misconfigured, "the role: " + words});
  };
  if (role.size() > longest) {
    refuse("its name has " + std::to_string(role.size()) + " bytes; at most 63 are allowed");
  }
  if (role.find('\0') != std::string::npos) refuse("its name contains a NUL byte");
  // Even in quotes it means every role.
  if (role == "public") refuse("'public' means every role; use the application's role");
  std::string quoted = "\"";
  for (const char c : role) quoted.append(c == '"' ? 2 : 1, c);
  return quoted += '"';
}

}  // namespace

std::unique_ptr<Backend> backend(std::string_view url) {
  return std::make_unique<PostgresBackend>(Settings::parse(url));
}

std::unique_ptr<Backend> backend(std::string_view url, Connector connector) {
  Settings settings = Settings::parse(url);
  // libpq asks a unix socket for its peer, and no other; what is to be checked must not be skipped.
  if (settings.names_peer()) {
    throw Error(
        {Errc::unsupported, "URL: requirepeer is not available with a connector; remove it"});
  }
  settings.connector = remote::shared(std::move(connector));
  return std::make_unique<PostgresBackend>(std::move(settings));
}

std::string migration(const Migration& options) {
  check_identifier("the schema", options.schema);
  std::string text;
  for (const char* const piece : sql::migration) text += fill_in(piece, options.schema);
  if (!options.role.empty()) {
    text += fill_in(sql::role, options.schema, quoted_role(options.role)) + "\n";
  }
  return text + "COMMIT;\n";
}

void migrate(std::string_view url, const Migration& options, std::chrono::milliseconds wait) {
  const std::string text = migration(options);
  const Settings settings = Settings::parse(url);
  Keywords keywords = settings.keywords;
  keywords.insert(keywords.end(), settings.hosts.begin(), settings.hosts.end());
  const std::optional<PqError> error = run_script(keywords, text, wait);
  if (!error) return;
  // The advice to run this would lead nowhere: what is missing here is a role, or a right.
  throw Error(server_error("postgresql " + settings.where(), *error, Advice::none).failure);
}

}  // namespace mortise::postgres
