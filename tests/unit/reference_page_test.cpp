// SPDX-License-Identifier: MIT
// Goal: docs/reference.md agrees with the library. Method: compare each cell of its table of
// capabilities with the answer of a client of that store before it connects, and the column "retry"
// of its error codes with is_retryable(). (tests/habits/reference.sh checks that no row is
// missing.)
#include <mortise/mortise.hpp>

#include "support/text_of.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace mortise {
namespace {

using Cells = std::vector<std::string>;

Cells cells_of(const std::string& line) {
  Cells cells;
  std::istringstream in(line);
  std::string cell;
  std::getline(in, cell, '|');  // the text before the first column
  while (std::getline(in, cell, '|')) {
    const auto first = cell.find_first_not_of(" `");
    cells.push_back(first == std::string::npos
                        ? std::string()
                        : cell.substr(first, cell.find_last_not_of(" `") + 1 - first));
  }
  return cells;
}

/// The rows of the table below a heading, by their first cell. The key of the head row is "".
std::map<std::string, Cells> table_of(const std::string& heading) {
  std::map<std::string, Cells> rows;
  std::istringstream page(test::text_of(MORTISE_DOCS_DIR "/reference.md"));
  bool here = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) here = line == "## " + heading;
    if (!here || !line.starts_with("| ")) continue;
    const Cells cells = cells_of(line);
    rows.emplace(rows.empty() ? "" : cells.front(), cells);
  }
  return rows;
}

std::string words(Support support) {
  switch (support) {
    case Support::no: return "no";
    case Support::yes: return "yes";
    case Support::unknown: return "unknown";
  }
  return "";
}

std::string words(std::chrono::milliseconds time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  return seconds == time ? std::to_string(seconds.count()) + " s"
                         : std::to_string(time.count()) + " ms";
}

std::map<std::string, std::string> answers_of(const Capabilities& can) {
  // A new capability does not compile here until it has a name.
  const StoreCapabilities& store = can;
  const auto& [leases, effective_lease, fencing, fair, push_wakeup, one_wake, survives_restart,
               survives_failover, shared_mode, permits, min_hold, safety_margin] = store;
  return {{"leases", words(leases)},
          {"effective_lease", effective_lease ? words(*effective_lease) : "empty"},
          {"fencing", words(fencing)},
          {"fair", words(fair)},
          {"push_wakeup", words(push_wakeup)},
          {"one_wake", words(one_wake)},
          {"survives_restart", words(survives_restart)},
          {"survives_failover", words(survives_failover)},
          {"shared_mode", words(shared_mode)},
          {"permits", words(permits)},
          {"min_hold", words(min_hold)},
          {"safety_margin",
           std::to_string(safety_margin.permille / 10) + " %, " + words(safety_margin.least)},
          {"once", words(can.once)},
          {"holders", words(can.holders)},
          {"lists", words(can.lists)},
          {"queues", words(can.queues)},
          {"forces", words(can.forces)}};
}

std::string url_of(const std::string& store, const std::string& directory) {
  if (store == "file") return "file://" + directory;
  if (store == "redlock") return "redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3";
  if (store == "memory") return "memory:";
  if (store == "zookeeper") return "zookeeper://127.0.0.1:1/locks";
  return store + "://127.0.0.1:1";
}

TEST(ReferencePage, ShowsTheCapabilitiesOfEachStore) {
  std::string directory = std::filesystem::temp_directory_path() / "mortise-XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  const std::unique_ptr<const std::string, void (*)(const std::string*)> removal(
      &directory, [](const std::string* path) { std::filesystem::remove_all(*path); });

  auto rows = table_of("Capabilities");
  ASSERT_THAT(rows, ::testing::SizeIs(::testing::Gt(1U)));
  const Cells stores = rows.extract("").mapped();
  ASSERT_THAT(stores, ::testing::ElementsAre("field", "what it means", "file", "redis", "redlock",
                                             "zookeeper", "postgresql", "memory"));
  for (std::size_t column = 2; column < stores.size(); ++column) {
    Capabilities can;
    try {
      can = Client(url_of(stores[column], directory)).capabilities();
    } catch (const Error& error) {
      if (error.errc() == Errc::unsupported) continue;  // this build has no such store
      throw;
    }
    const auto answers = answers_of(can);
    EXPECT_EQ(rows.size(), answers.size());
    for (const auto& [field, cells] : rows) {
      if (stores[column] == "file" && field == "one_wake") continue;  // the kernel decides
      ASSERT_EQ(cells.size(), stores.size()) << field;
      EXPECT_EQ(cells[column], answers.at(field)) << stores[column] << ", " << field;
    }
  }
}

TEST(ReferencePage, ShowsTheErrorsThatAreWorthARetry) {
  const auto rows = table_of("Error codes");
  for (int value = 1; value <= static_cast<int>(Errc::mismatch); ++value) {
    const auto code = static_cast<Errc>(value);
    const auto row = rows.find(std::string(to_string(code)));
    ASSERT_NE(row, rows.end()) << to_string(code);
    EXPECT_EQ(row->second.at(1), is_retryable(code) ? "yes" : "no") << to_string(code);
  }
}

}  // namespace
}  // namespace mortise
