// SPDX-License-Identifier: MIT
// Simulates clients, servers and the network between them, from seeds:
//   mortise_simulate run KIND SECONDS [SEED [COUNT]]   random runs until the time is up, so many
//   were
//                                                      made, or one fails
//   mortise_simulate replay KIND WORD [MUTANT]   one run, told in words
//   mortise_simulate mutants [KIND|NAME] [ROUNDS [SECONDS]]   which of the built-in mistakes are
//                                                             found, and when
#include "simulation/program/mutants.hpp"
#include "simulation/program/runner.hpp"

#include <sys/personality.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace simulation;

const std::vector<Kind> kinds{Kind::memory,   Kind::redis,    Kind::redlock,  Kind::zookeeper,
                              Kind::postgres, Kind::sentinel, Kind::replicas, Kind::cluster};

std::vector<Kind> kinds_of(const std::string& text) {
  if (text == "all") return kinds;
  for (const Kind kind : kinds) {
    if (name_of(kind) == text) return {kind};
  }
  return {};
}

unsigned jobs() {
  const char* const given = std::getenv("MORTISE_SIMULATION_JOBS");
  const long number = given == nullptr ? 0 : std::strtol(given, nullptr, 10);
  return number > 0 ? static_cast<unsigned>(number)
                    : std::max(1U, std::thread::hardware_concurrency());
}

void print(const Kind kind, const Figures& figures, double seconds) {
  std::printf(
      "%-9s %8lu seeds %11lu grants (%.0f/s) %12lu events (%.0f/s) %11lu requests, %.1f h of "
      "virtual time\n",
      name_of(kind).c_str(), figures.seeds, figures.grants,
      static_cast<double>(figures.grants) / seconds, figures.events,
      static_cast<double>(figures.events) / seconds, figures.requests,
      figures.seconds_of_the_world / 3600);
}

void print_faults(const Figures& figures) {
  std::printf("          faults:");
  for (std::size_t i = 0; i < Fault::kinds; ++i) {
    std::printf("%s %lu %s", i == 0 ? "" : ",", figures.faults[i],
                std::string(name_of(static_cast<Fault::What>(i))).c_str());
  }
  std::printf("\n          timed calls, beyond their time, median/longest ms:");
  for (std::size_t i = 0; i < Fault::kinds; ++i) {
    const OverRun& each = figures.over_runs[i];
    std::printf("%s %s %zu/%.1f of %lu", i == 0 ? "" : ",",
                std::string(name_of(static_cast<Fault::What>(i))).c_str(), each.median(),
                static_cast<double>(each.longest().count()) / 1e6, each.count());
  }
  std::printf("\n");
}

void tell(const Subject& subject, const Plan& plan) {
  std::vector<std::string> story;
  const std::optional<Verdict> verdict = run_apart(subject, plan, &story);
  const char* const lines = std::getenv("MORTISE_SIMULATION_LINES");
  const std::size_t last_lines = lines == nullptr ? 60 : std::strtoul(lines, nullptr, 10);
  const std::size_t from = story.size() > last_lines ? story.size() - last_lines : 0;
  if (from > 0) std::printf("  ... %zu lines before\n", from);
  for (std::size_t i = from; i < story.size(); ++i) std::printf("  %s\n", story[i].c_str());
  if (verdict) {
    std::printf("%s: %s\n", verdict->promise.c_str(), verdict->words.c_str());
  } else {
    std::printf("no promise was broken\n");
  }
}

int report(const Subject& subject, const Finding& finding) {
  std::printf("%s, seed %lu: %s: %s\n", name_of(subject.kind).c_str(), finding.plan.seed,
              finding.verdict.promise.c_str(), finding.verdict.words.c_str());
  const Plan small = shorten(subject, finding, 15);
  tell(subject, small);
  std::printf("to see it again: ./dev simulate replay %s %s %s\n", name_of(subject.kind).c_str(),
              small.word().c_str(), subject.mutant.c_str());
  return 1;
}

int run(const std::string& what, double seconds, std::uint64_t seed, std::uint64_t at_most) {
  const std::vector<Kind> chosen = kinds_of(what);
  const bool terminal = ::isatty(STDERR_FILENO) != 0;
  for (const Kind kind : chosen) {
    const Subject subject{kind, {}};
    const double mine = seconds / static_cast<double>(chosen.size());
    const auto began = std::chrono::steady_clock::now();
    const auto past = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    };
    Figures figures;
    const auto finding = run_many(
        subject, seed, at_most, mine, Measure::wall, jobs(), figures, [&](const Figures& now) {
          if (!terminal) return;
          std::fprintf(stderr, "\r%s: %.0f s, %lu seeds, %lu grants ", name_of(kind).c_str(),
                       past(), now.seeds, now.grants);
        });
    if (terminal) std::fprintf(stderr, "\r\033[K");
    print(kind, figures, past());
    print_faults(figures);
    if (finding) return report(subject, *finding);
  }
  return 0;
}

int replay(const std::string& what, const std::string& word, const std::string& mutant) {
  const std::vector<Kind> chosen = kinds_of(what);
  if (chosen.size() != 1) return 2;
  Plan plan = Plan::draw(chosen.front(), std::strtoull(word.c_str(), nullptr, 10),
                         specials_of(chosen.front()));
  if (word.find(':') != std::string::npos && !plan.apply(word)) return 2;
  tell({chosen.front(), mutant}, plan);
  return 0;
}

struct Found {
  double seconds = 0;  // of a CPU: what else the machine does makes no difference
  std::uint64_t seeds = 0;
  std::string as;             // empty: it was not found
  bool also_without = false;  // the same plan fails without the mistake, too: a defect of its own
};

Found look_for(const Mutant& mutant, std::uint64_t seed, double limit) {
  Found found;
  const double began = seconds_of_cpu();
  // A mistake of the core may show with one kind of store only.
  for (std::size_t turn = 0; found.as.empty() && found.seconds < limit; ++turn) {
    const Kind kind = mutant.kinds[turn % mutant.kinds.size()];
    const double time = mutant.kinds.size() == 1 ? limit : 5;
    Figures figures;
    const auto finding =
        run_many({kind, mutant.name}, seed + turn * 100'000, UINT64_MAX / 2,
                 std::min(time, limit - found.seconds), Measure::cpu, 1, figures, {});
    found.seconds = seconds_of_cpu() - began;
    found.seeds += figures.seeds;
    if (!finding) continue;
    found.as = name_of(kind) + ", " + finding->verdict.promise + ", seed " +
               std::to_string(finding->plan.seed);
    found.also_without = run_apart({kind, {}}, finding->plan).has_value();
  }
  return found;
}

int find_mutants(const std::string& what, std::size_t rounds, double limit) {
  std::size_t missed = 0;
  std::size_t looked = 0;
  std::printf("%-48s %8s %8s  %s\n", "mutant", "seconds", "seeds",
              "found as (the median of its rounds)");
  for (const Mutant& mutant : all_mutants()) {
    if (what != "all" && what != mutant.name && !mutant.name.starts_with(what + ".")) continue;
    std::vector<Found> all;
    for (std::size_t round = 0; round < rounds; ++round) {
      all.push_back(look_for(mutant, 1 + round * 1'000'000, limit));
    }
    std::sort(all.begin(), all.end(),
              [](const Found& a, const Found& b) { return a.seconds < b.seconds; });
    const Found& median = all[all.size() / 2];
    const bool every =
        std::none_of(all.begin(), all.end(), [](const Found& each) { return each.as.empty(); });
    const bool also_without =
        std::any_of(all.begin(), all.end(), [](const Found& each) { return each.also_without; });
    ++looked;
    if (!every || also_without) ++missed;
    std::printf("%-48s %8.2f %8lu  %s%s%s\n", mutant.name.c_str(), median.seconds, median.seeds,
                median.as.empty() ? "NOT FOUND" : median.as.c_str(),
                every || median.as.empty() ? "" : " (not in every round)",
                also_without ? " (AND WITHOUT THE MISTAKE)" : "");
    for (const Found& each : all) {
      if (each.also_without) std::printf("    without the mistake, too: %s\n", each.as.c_str());
    }
    std::fflush(stdout);
  }
  std::printf("%zu mutants, %zu not found\n", looked, missed);
  return missed == 0 ? 0 : 1;
}

int usage() {
  std::fputs(
      "usage: mortise_simulate run KIND SECONDS [SEED [COUNT]] | replay KIND WORD [MUTANT] | "
      "mutants [KIND|NAME] [ROUNDS [SECONDS]]\n  KIND: memory redis redlock zookeeper postgres "
      "sentinel replicas cluster all\n",
      stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  // Addresses must not differ from run to run: a seed replays to the byte.
  const int persona = ::personality(0xffffffff);
  if (persona >= 0 && (persona & ADDR_NO_RANDOMIZE) == 0 &&
      ::personality(static_cast<unsigned long>(persona) | ADDR_NO_RANDOMIZE) >= 0) {
    ::execv("/proc/self/exe", argv);
  }
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto word = [&](std::size_t i, const char* otherwise) {
    return words.size() > i ? words[i] : std::string(otherwise);
  };
  if (words.empty()) return usage();
  if (words[0] == "mutants") {
    return find_mutants(word(1, "all"), std::strtoul(word(2, "1").c_str(), nullptr, 10),
                        std::strtod(word(3, "60").c_str(), nullptr));
  }
  if (kinds_of(word(1, "all")).empty()) return usage();
  if (words[0] == "run") {
    return run(word(1, "all"), std::strtod(word(2, "60").c_str(), nullptr),
               std::strtoull(word(3, "1").c_str(), nullptr, 10),
               std::strtoull(word(4, "1000000000000").c_str(), nullptr, 10));
  }
  if (words[0] == "replay" && words.size() >= 3) return replay(words[1], words[2], word(3, ""));
  return usage();
}
