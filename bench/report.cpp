// SPDX-License-Identifier: MIT
#include "report.hpp"

#include <sys/utsname.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace mortise::bench {
namespace {

std::string print(const char* format, double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, format, value);
  return buffer;
}

/// Three digits or more.
std::string figure(double value) {
  if (value >= 100) return print("%.0f", value);
  if (value >= 10) return print("%.1f", value);
  return print(value >= 1 ? "%.2f" : "%.3f", value);
}

std::string spread(const Series& series) {
  return series.rounds.size() < 2 ? "" : print("%.0f %%", series.spread() * 100);
}

const char* verdict(const Result& result) {
  if (!result.failure.empty()) return "FAILED";
  if (!result.met) return "";
  return *result.met ? "met" : "MISSED";
}

std::string goal(const Result& result) {
  if (!result.goal) return "";
  const char* const relation = result.better == Better::lower ? "<= " : ">= ";
  const bool absolute = result.floor.rounds.empty();
  return relation + (absolute ? figure(*result.reference) : print("%.2f x", *result.goal));
}

constexpr const char* row_format = "%-*s  %-2s %-5s %10s %7s %10s %7s %7s  %-10s %s\n";

std::string number_or_null(std::optional<double> value) {
  return value ? print("%.6g", *value) : "null";
}

void write_object(std::ostream& out, const Result& result) {
  const bool known = result.failure.empty();
  out << "  {\"name\": \"" << result.name << "\", \"mode\": \"" << letter(result.mode)
      << "\", \"unit\": \"" << result.unit << "\", \"better\": \""
      << (result.better == Better::lower ? "lower" : "higher")
      << "\", \"ours\": " << (known ? print("%.6g", result.ours.value()) : "null")
      << ", \"floor\": " << number_or_null(result.reference)
      << ", \"ratio\": " << number_or_null(result.ratio)
      << ", \"goal\": " << number_or_null(result.goal)
      << ", \"met\": " << (result.met ? (*result.met ? "true" : "false") : "null") << "}";
}

}  // namespace

void print_head(std::size_t width, int rounds) {
  utsname system{};
  ::uname(&system);
  double load[1] = {};
  ::getloadavg(load, 1);
  std::printf("%u CPUs, %s %s, load %.2f, medians of %d rounds\n",
              std::thread::hardware_concurrency(), system.sysname, system.release, load[0], rounds);
#ifndef __OPTIMIZE__
  std::printf("NOT an optimised build: the figures mean nothing\n");
#endif
  std::printf("\n");
  std::printf(row_format, static_cast<int>(width), "case", "", "unit", "ours", "spread", "floor",
              "spread", "ratio", "goal", "");
  std::fflush(stdout);  // or a forked child would print it once more
}

void print_row(const Result& result, std::size_t width) {
  if (!result.failure.empty()) {
    std::printf("%-*s  %-2s FAILED: %s\n", static_cast<int>(width), result.name.c_str(),
                letter(result.mode), result.failure.c_str());
  } else {
    const bool floor = !result.floor.rounds.empty();
    std::printf(row_format, static_cast<int>(width), result.name.c_str(), letter(result.mode),
                result.unit.c_str(), figure(result.ours.value()).c_str(),
                spread(result.ours).c_str(), floor ? figure(result.floor.value()).c_str() : "",
                floor ? spread(result.floor).c_str() : "",
                result.ratio ? print("%.2f", *result.ratio).c_str() : "", goal(result).c_str(),
                verdict(result));
  }
  std::fflush(stdout);
}

void print_summary(const std::vector<Result>& results) {
  int met = 0;
  int missed = 0;
  int failed = 0;
  std::string names;
  for (const Result& result : results) {
    const bool bad = !result.failure.empty() || result.met == false;
    if (bad) names += "\n  " + result.name + " (" + letter(result.mode) + ") " + verdict(result);
    met += result.met == true ? 1 : 0;
    missed += result.met == false ? 1 : 0;
    failed += result.failure.empty() ? 0 : 1;
  }
  std::printf("\ngoals: %d met, %d missed; cases that failed: %d%s\n", met, missed, failed,
              names.c_str());
}

void write_json(const std::string& path, const std::vector<Result>& results) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  if (!parent.empty()) std::filesystem::create_directories(parent);
  std::ofstream out(path);
  out << "[\n";
  for (std::size_t i = 0; i < results.size(); ++i) {
    write_object(out, results[i]);
    out << (i + 1 < results.size() ? ",\n" : "\n");
  }
  out << "]\n";
  out.close();
  if (!out) throw std::runtime_error("cannot write " + path);
}

}  // namespace mortise::bench
