// SPDX-License-Identifier: MIT
#include "simulation/program/runner.hpp"

#include "base/mutant.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <map>
#include <memory>
#include <new>
#include <string_view>

namespace simulation {
namespace {

constexpr std::uint64_t seeds_of_a_batch = 20;
constexpr int longest_run = 60;  // s of a CPU: then it goes in circles
constexpr std::size_t story_size = std::size_t{64} << 20U;

/// What a child process tells, through memory that it shares, so that a crash loses nothing.
struct Report {
  Figures figures{};
  std::uint64_t seed = 0;
  bool found = false;
  std::array<char, 32> promise{};
  std::array<char, 1024> words{};
  std::size_t story = 0;  // bytes behind the report
};

class SharedReport {
 public:
  explicit SharedReport(bool story) : size_(sizeof(Report) + (story ? story_size : 0)) {
    void* const memory =
        ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    report_ = new (memory) Report;
  }
  ~SharedReport() { ::munmap(report_, size_); }
  SharedReport(const SharedReport&) = delete;
  SharedReport& operator=(const SharedReport&) = delete;
  Report* operator->() const noexcept { return report_; }
  [[nodiscard]] char* text() const noexcept { return reinterpret_cast<char*>(report_ + 1); }

 private:
  std::size_t size_;
  Report* report_;
};

template <std::size_t Size>
void put(std::array<char, Size>& into, std::string_view text) {
  const std::size_t size = std::min(text.size(), Size - 1);
  std::memcpy(into.data(), text.data(), size);
  into[size] = '\0';
}

void run_here(const Subject& subject, const Plan& plan, SharedReport& report, bool story) {
  report->seed = plan.seed;
  const itimerval limit{.it_interval = {}, .it_value = {.tv_sec = longest_run, .tv_usec = 0}};
  ::setitimer(ITIMER_VIRTUAL, &limit, nullptr);
  mortise::base::active_mutant = subject.mutant;
  Scene scene(plan, story);
  const Outcome outcome = scene.run();
  Figures& figures = report->figures;
  ++figures.seeds;
  figures.grants += outcome.grants;
  figures.events += outcome.events;
  figures.requests += outcome.requests;
  figures.seconds_of_the_world += static_cast<double>(outcome.time.count()) / 1e9;
  for (std::size_t i = 0; i < Fault::kinds; ++i) {
    figures.faults[i] += outcome.faults[i];
    figures.over_runs[i] += outcome.over_runs[i];
  }
  if (story) {
    for (const std::string& line : outcome.story) {
      if (report->story + line.size() + 1 > story_size) break;
      std::memcpy(report.text() + report->story, line.data(), line.size());
      report->story += line.size();
      report.text()[report->story++] = '\n';
    }
  }
  if (!outcome.verdict) return;
  put(report->promise, outcome.verdict->promise);
  put(report->words, outcome.verdict->words);
  report->found = true;
}

template <class Work>
pid_t start(Work work) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  work();
  ::_exit(0);  // nothing is destroyed: threads are still on their stacks
}

/// @return what a child came to: what it told, or that it did not live to tell.
std::optional<Verdict> verdict_of(const SharedReport& report, int status) {
  if (report->found) return Verdict{report->promise.data(), report->words.data()};
  if (WIFSIGNALED(status)) {
    const bool time = WTERMSIG(status) == SIGVTALRM;
    return Verdict{time ? "endless" : "crash",
                   time ? "the run does not end"
                        : std::string("ended by signal ") + ::strsignal(WTERMSIG(status))};
  }
  if (WEXITSTATUS(status) != 0) return Verdict{"crash", "the run ended the process"};
  return std::nullopt;
}

struct Batch {
  std::unique_ptr<SharedReport> report;
  std::uint64_t first = 0;
};

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

double now_by(Measure measure) {
  if (measure == Measure::wall) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
  }
  double all = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    ::getrusage(who, &used);
    all += seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
  }
  return all;
}

/// What is left of a search's time, also after a fork: a child has used no CPU yet.
class Budget {
 public:
  Budget(double seconds, Measure measure)
      : left_(seconds), measure_(measure), began_(now_by(measure)) {}
  [[nodiscard]] double left() const { return left_ - (now_by(measure_) - began_); }

 private:
  double left_;
  Measure measure_;
  double began_;
};

}  // namespace

Figures& Figures::operator+=(const Figures& other) noexcept {
  seeds += other.seeds;
  grants += other.grants;
  events += other.events;
  requests += other.requests;
  seconds_of_the_world += other.seconds_of_the_world;
  for (std::size_t i = 0; i < faults.size(); ++i) faults[i] += other.faults[i];
  for (std::size_t i = 0; i < over_runs.size(); ++i) over_runs[i] += other.over_runs[i];
  return *this;
}

double seconds_of_cpu() { return now_by(Measure::cpu); }

std::optional<Verdict> run_apart(const Subject& subject, const Plan& plan,
                                 std::vector<std::string>* story) {
  SharedReport report(story != nullptr);
  const pid_t child = start([&] { run_here(subject, plan, report, story != nullptr); });
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (story != nullptr) {
    std::string_view text(report.text(), report->story);
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      story->emplace_back(text.substr(0, end));
      text.remove_prefix(end + 1);
    }
  }
  return verdict_of(report, status);
}

std::optional<Finding> run_many(const Subject& subject, std::uint64_t first, std::uint64_t at_most,
                                double seconds, Measure measure, unsigned jobs, Figures& figures,
                                const std::function<void(const Figures&)>& progress) {
  const Budget budget(seconds, measure);
  const std::size_t specials = specials_of(subject.kind);
  std::map<pid_t, Batch> batches;
  std::optional<Finding> finding;
  std::uint64_t next = first;
  const std::uint64_t end = first + at_most;
  const auto may_start = [&] { return !finding && next < end && budget.left() > 0; };
  while (may_start() || !batches.empty()) {
    while (batches.size() < jobs && may_start()) {
      Batch batch{std::make_unique<SharedReport>(false), next};
      const std::uint64_t last = std::min(next + seeds_of_a_batch, end);
      const double left = budget.left();
      const pid_t child = start([&] {
        const Budget mine(left, measure);
        for (std::uint64_t seed = batch.first; seed < last; ++seed) {
          if (mine.left() <= 0) break;
          run_here(subject, Plan::draw(subject.kind, seed, specials), *batch.report, false);
          if ((*batch.report)->found) break;
        }
      });
      next = last;
      batches.emplace(child, std::move(batch));
    }
    int status = 0;
    const pid_t child = ::waitpid(-1, &status, 0);
    const auto done = batches.find(child);
    if (done == batches.end()) continue;
    const SharedReport& report = *done->second.report;
    figures += report->figures;
    std::optional<Verdict> verdict = verdict_of(report, status);
    // Of two findings at once the smaller seed counts, whichever process was quicker.
    if (verdict && (!finding || report->seed < finding->plan.seed)) {
      finding = Finding{Plan::draw(subject.kind, report->seed, specials), std::move(*verdict)};
    }
    batches.erase(done);
    if (progress) progress(figures);
  }
  return finding;
}

Plan shorten(const Subject& subject, Finding finding, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::duration<double>(seconds);
  Plan best = finding.plan;
  const auto still = [&](const Plan& plan) {
    if (Clock::now() >= until) return false;
    const std::optional<Verdict> verdict = run_apart(subject, plan);
    if (!verdict || verdict->promise != finding.verdict.promise) return false;
    best = plan;
    return true;
  };
  // Whole stretches of faults first, then each alone.
  for (std::size_t stretch = best.faults.size(); stretch > 0; stretch /= 2) {
    for (std::size_t from = 0; from < best.faults.size(); from += stretch) {
      Plan plan = best;
      const std::size_t before = plan.left_out.size();
      for (std::size_t i = from; i < std::min(from + stretch, plan.faults.size()); ++i) {
        plan.left_out.insert(i);
      }
      if (plan.left_out.size() > before) static_cast<void>(still(plan));
    }
  }
  for (const auto part : {&Plan::clients, &Plan::threads, &Plan::operations}) {
    for (;;) {
      Plan plan = best;
      plan.*part = part == &Plan::operations ? plan.*part / 2 : plan.*part - 1;
      if (plan.*part == 0 || !still(plan)) break;
    }
  }
  return best;
}

}  // namespace simulation
