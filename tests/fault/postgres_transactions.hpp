// SPDX-License-Identifier: MIT
// The ground of the tests of users' own transactions on PostgreSQL: a table of orders, and each
// isolation level.
#pragma once

#include "fault/postgres_fixture.hpp"

#include <string>

namespace mortise::fault {

class PostgresTransactions : public PostgresTest,
                             public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (IsSkipped()) return;
    share_server();
    server().talk().run(
        "drop table if exists orders; create table orders (id int primary key, charged int);"
        "insert into orders values (1, 0); grant all on orders to shop");
  }
  [[nodiscard]] static std::string begin() {
    return std::string("begin isolation level ") + GetParam();
  }
  [[nodiscard]] static bool is_read_committed() {
    return std::string(GetParam()) == "read committed";
  }
  [[nodiscard]] std::string charged() { return see("select charged from orders"); }
};

[[nodiscard]] inline auto isolation_levels() {
  return ::testing::Values("read committed", "repeatable read", "serializable");
}

[[nodiscard]] inline std::string isolation_level_of(
    const ::testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  for (char& letter : name) letter = letter == ' ' ? '_' : letter;
  return name;
}

}  // namespace mortise::fault
