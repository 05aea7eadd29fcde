// SPDX-License-Identifier: MIT
// The ground of the fault tests on PostgreSQL: a server of the test's own, clients of it, and looks
// into what they left there. It breaks nothing by itself.
#pragma once

#include <mortise/postgres.hpp>

#include "core/figures.hpp"
#include "fault/party.hpp"
#include "support/postgres_server.hpp"
#include "support/postgres_tables.hpp"
#include "support/proxy.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace mortise::fault {

using test::PostgresServer;
using test::PostgresServerOptions;
using test::PostgresTalk;
using test::PostgresTalkError;
using test::Proxy;
using ::testing::AnyOf;

/// The processes of the server that serve clients of the library.
inline constexpr const char* sessions =
    "select pid from pg_stat_activity where usename = 'shop' and backend_type = 'client backend'";

class PostgresTest : public ::testing::Test {
 protected:
  void SetUp() override { MORTISE_NEEDS_POSTGRES_SERVER(); }

  /// For a test that does nothing to the server itself, and leaves nothing in it but what it wrote
  /// to the library's tables: there is one for all of the process.
  void share_server() {
    static PostgresServer all;
    if (shared_before_) {
      test::empty_tables(all, "mortise");
    } else {
      postgres::migrate(all.owner_url(), {.role = test::postgres_application});
    }
    shared_before_ = true;
    shared_ = &all;
  }
  /// @return the server, with the library's tables; the first call decides its options.
  [[nodiscard]] PostgresServer& server(const PostgresServerOptions& options = {}) {
    if (shared_ != nullptr) return *shared_;
    if (!server_) {
      server_.emplace(options);
      postgres::migrate(server_->owner_url(), {.role = test::postgres_application});
    }
    return *server_;
  }
  [[nodiscard]] Client client(ClientOptions options = {}) {
    return Client(server().url(), std::move(options));
  }
  /// @return one value that the superuser sees.
  [[nodiscard]] std::string see(const std::string& sql, const test::PostgresRow& parameters = {}) {
    return server().talk().value(sql, parameters);
  }
  /// @return whether a lease lives on the name now.
  [[nodiscard]] bool is_held(const std::string& name) {
    return see("select expires_at > clock_timestamp() from mortise.lock"
               " where name = convert_to($1, 'UTF8')",
               {name}) == "t";
  }
  /// @return whether somebody waits for the name, or did so a moment ago.
  [[nodiscard]] bool is_waited_for(const std::string& name) {
    return see("select waiters_until > clock_timestamp() from mortise.lock"
               " where name = convert_to($1, 'UTF8')",
               {name}) == "t";
  }
  [[nodiscard]] bool comes_to_wait(const std::string& name) {
    return eventually([&] { return is_waited_for(name); });
  }
  /// @return the number of the last grant; 0: there was none.
  [[nodiscard]] std::uint64_t number(const std::string& name) {
    const std::string text =
        see("select number from mortise.lock where name = convert_to($1, 'UTF8')", {name});
    return text.empty() ? 0 : std::stoull(text);
  }
  /// @return the number of the grant that a token belongs to.
  [[nodiscard]] static std::uint64_t grant_of(Token token) {
    return token.value() / core::tokens_in_a_grant;
  }
  /// Ends every session of the library, from outside. @return how many
  std::size_t terminate_all() {
    return server()
        .talk()
        .rows(std::string("select pg_terminate_backend(pid) from (") + sessions +
              ") as all_of_them")
        .size();
  }

 private:
  inline static bool shared_before_ = false;
  PostgresServer* shared_ = nullptr;
  std::optional<PostgresServer> server_;
};

}  // namespace mortise::fault
