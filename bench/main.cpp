// SPDX-License-Identifier: MIT
// The benchmark: runs the cases whose names begin with the filter. README.md says how to read it.
#include "case.hpp"
#include "report.hpp"
#include "result.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

namespace mortise::bench {
namespace {

constexpr const char* usage =
    "usage: mortise_bench [filter] [--rounds N] [--json PATH] [--strict] [--list]\n"
    "\n"
    "  filter       run the cases whose names begin with this: core, file, core/handoff ...\n"
    "  --rounds N   rounds a case (default 5); each figure is the median over them\n"
    "  --json PATH  where the results go (default build/bench/results.json)\n"
    "  --strict     exit with 1 when a goal is missed\n"
    "  --list       name the cases and end\n";

struct Options {
  std::string filter;
  int rounds = 5;
  std::string json = "build/bench/results.json";
  bool strict = false;
  bool list = false;
};

Options parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    const auto value = [&] {
      if (++i == count) throw std::invalid_argument(std::string(argument) + " wants a value");
      return arguments[i];
    };
    if (argument == "--rounds") {
      options.rounds = std::atoi(value());
    } else if (argument == "--json") {
      options.json = value();
    } else if (argument == "--strict") {
      options.strict = true;
    } else if (argument == "--list") {
      options.list = true;
    } else if (argument.starts_with("-") || !options.filter.empty()) {
      throw std::invalid_argument("unknown argument " + std::string(argument));
    } else {
      options.filter = argument;
    }
  }
  if (options.rounds < 1) throw std::invalid_argument("--rounds wants a number above 0");
  return options;
}

Cases chosen(const std::string& filter) {
  Cases cases;
  add_core_cases(cases);
  add_engine_cases(cases);
  add_file_cases(cases);
#ifdef MORTISE_WITH_REDIS
  add_redis_cases(cases);
  add_redlock_cases(cases);
#endif
#ifdef MORTISE_WITH_ZOOKEEPER
  add_zookeeper_cases(cases);
#endif
#ifdef MORTISE_WITH_POSTGRES
  add_postgres_cases(cases);
#endif
  add_once_cases(cases);
  std::erase_if(cases, [&](const Case& one) { return !one.name.starts_with(filter); });
  if (cases.empty()) throw std::invalid_argument("no case begins with " + filter);
  std::erase_if(cases, [](const Case& one) {
    if (one.left_out.empty()) return false;
    std::printf("left out: %s %s, %s\n", one.name.c_str(), letter(one.mode), one.left_out.c_str());
    return true;
  });
  if (std::erase_if(cases, [](const Case& one) { return !possible(one.mode); }) > 0) {
    std::printf("one CPU only: the cases of mode X are left out\n");
  }
  return cases;
}

int bench(const Options& options) {
  const Cases cases = chosen(options.filter);
  std::size_t width = 0;
  for (const Case& one : cases) width = std::max(width, one.name.size());
  if (options.list) {
    for (const Case& one : cases) std::printf("%s %s\n", one.name.c_str(), letter(one.mode));
    return 0;
  }
  print_head(width, options.rounds);
  std::vector<Result> results;
  bool missed = false;
  bool failed = false;
  for (const Case& one : cases) {
    results.push_back(run(one, options.rounds));
    print_row(results.back(), width);
    missed |= results.back().met == false;
    failed |= !results.back().failure.empty();
  }
  print_summary(results);
  write_json(options.json, results);
  std::printf("results: %s\n", options.json.c_str());
  return failed || (missed && options.strict) ? 1 : 0;
}

}  // namespace
}  // namespace mortise::bench

int main(int count, char** arguments) {
  try {
    return mortise::bench::bench(mortise::bench::parse(count, arguments));
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "mortise_bench: %s\n\n%s", error.what(), mortise::bench::usage);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mortise_bench: %s\n", error.what());
    return 1;
  }
}
