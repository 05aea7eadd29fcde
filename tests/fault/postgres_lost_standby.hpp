// SPDX-License-Identifier: MIT
// The ground of the tests whose commits wait for a standby that is gone, and of which somebody ends
// the wait: they are committed here and nowhere else, and nobody is told.
#pragma once

#include "fault/postgres_fixture.hpp"

#include <cstddef>
#include <string>

namespace mortise::fault {

/// The processes of the server whose commits wait for it.
inline constexpr const char* committing =
    "select pid from pg_stat_activity where usename = 'shop' and wait_event = 'SyncRep'";

class PostgresLostStandby : public PostgresTest {
 protected:
  void configure(const std::string& names) {
    PostgresTalk talk = server().talk();
    talk.run("alter system set synchronous_standby_names = '" + names + "'");
    talk.run("select pg_reload_conf()");
  }
  void lose_standby() {
    configure("nobody");
    // In force when a commit waits.
    ASSERT_TRUE(eventually([&] {
      PostgresTalk talk = server().talk();
      talk.send("create table if not exists public.tried (i int); drop table public.tried");
      const bool waits = !talk.answered(100ms);
      static_cast<void>(server().talk().value("select pg_cancel_backend($1::int)",
                                              {std::to_string(talk.server_process())}));
      return waits;
    }));
  }
  void find_standby() { configure(""); }
  /// @return how many waits for the standby were ended.
  std::size_t cancel_waits() {
    return server()
        .talk()
        .rows(std::string("select pg_cancel_backend(pid) from (") + committing + ") as c")
        .size();
  }
  [[nodiscard]] bool is_committing() {
    return !see(std::string("select count(*) from (") + committing + ") as c").starts_with('0');
  }
};

}  // namespace mortise::fault
