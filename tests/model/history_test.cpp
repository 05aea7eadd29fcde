// SPDX-License-Identifier: MIT
// Goal: the history is evidence. What was committed survives `kill -9` of its writer, what was not
// is recognised, what finds no room is refused aloud, and recording is cheap enough not to disturb
// what it watches. Method: real processes and threads on one file, some of them killed in mid-run.
#include "model/history.hpp"

#include "model/checker.hpp"
#include "model/process.hpp"
#include "model/recorder.hpp"
#include "model/temporary.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <new>
#include <thread>
#include <utility>
#include <vector>

namespace mortise::model {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t processes = 4;
constexpr std::uint32_t threads = 2;

// Shared with children: how far each writer has got, told after its append has returned.
struct Progress {
  std::atomic<std::uint64_t> acknowledged[processes][threads] = {};
  std::atomic<bool> stop = false;
};

class SharedProgress {
 public:
  SharedProgress()
      : progress_(::new (::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Progress) {}
  SharedProgress(const SharedProgress&) = delete;
  SharedProgress& operator=(const SharedProgress&) = delete;
  ~SharedProgress() { ::munmap(progress_, sizeof(Progress)); }
  Progress* operator->() const { return progress_; }
  Progress& operator*() const { return *progress_; }

 private:
  Progress* progress_;
};

TEST(History, GivesBackEveryFieldOfEveryKindOfEvent) {
  const TemporaryDirectory directory;
  HistoryFile history = HistoryFile::create(directory.file("history"), 16);
  std::int64_t time = 0;
  const Recorder recorder(history, 3, [&time] { return time += 10; });

  const Attempt attempt = recorder.invoke_acquire(7, 2);
  const Hold hold = recorder.granted(attempt, 2049, 500);
  recorder.renewed(hold, 900);
  recorder.lost(hold);
  const RecordedCall write = recorder.invoke_write(hold);
  recorder.returned(write, Outcome::fail);
  const RecordedCall release = recorder.invoke_release(hold);
  recorder.returned(release, Outcome::was_lost);
  recorder.returned(recorder.invoke_acquire(8, 2), Outcome::unknown);
  recorder.died(9, 4711, 1000, 1010);

  const std::vector<Event> events = HistoryFile::open(directory.file("history")).read();
  ASSERT_EQ(events.size(), 11U);
  struct Expected {
    Operation operation;
    Phase phase;
    Outcome outcome;
    std::uint64_t op, hold, token;
    std::int64_t time, deadline;
    std::uint32_t owner, process;
  };
  const std::vector<Expected> expected{
      {Operation::acquire, Phase::invoked, Outcome::none, 1, 0, 0, 10, 0, 7, 3},
      {Operation::acquire, Phase::returned, Outcome::ok, 1, 0, 2049, 20, 500, 7, 3},
      {Operation::renewal, Phase::single, Outcome::none, 3, 1, 2049, 30, 900, 7, 3},
      {Operation::loss, Phase::single, Outcome::none, 4, 1, 2049, 40, 0, 7, 3},
      {Operation::write, Phase::invoked, Outcome::none, 5, 1, 2049, 50, 0, 7, 3},
      {Operation::write, Phase::returned, Outcome::fail, 5, 1, 2049, 60, 0, 7, 3},
      {Operation::release, Phase::invoked, Outcome::none, 7, 1, 2049, 70, 0, 7, 3},
      {Operation::release, Phase::returned, Outcome::was_lost, 7, 1, 2049, 80, 0, 7, 3},
      {Operation::acquire, Phase::invoked, Outcome::none, 9, 0, 0, 90, 0, 8, 3},
      {Operation::acquire, Phase::returned, Outcome::unknown, 9, 0, 0, 100, 0, 8, 3},
      {Operation::death, Phase::single, Outcome::none, 11, 0, 0, 1000, 1010, 0, 9},
  };
  for (std::size_t i = 0; i < expected.size(); ++i) {
    SCOPED_TRACE(i);
    const Event& event = events[i];
    const Expected& want = expected[i];
    EXPECT_EQ(event.operation, want.operation);
    EXPECT_EQ(event.phase, want.phase);
    EXPECT_EQ(event.outcome, want.outcome);
    EXPECT_EQ(event.op, want.op);
    EXPECT_EQ(event.hold, want.hold);
    EXPECT_EQ(event.token, want.token);
    EXPECT_EQ(event.time, want.time);
    EXPECT_EQ(event.deadline, want.deadline);
    EXPECT_EQ(event.owner, want.owner);
    EXPECT_EQ(event.process, want.process);
    EXPECT_EQ(event.pid, want.operation == Operation::death ? 4711 : ::getpid());
    EXPECT_EQ(event.name, want.operation == Operation::death ? 0U : 2U);
    EXPECT_EQ(event.slot, i + 1);
  }
}

// One writer's stream: its events carry 1, 2, 3, ... and each is acknowledged after the append.
void write_on(HistoryFile& history, Progress& progress, std::uint32_t process,
              std::uint32_t thread) {
  const Recorder recorder(history, process);
  for (std::uint64_t count = 1; !progress.stop.load(std::memory_order_relaxed); ++count) {
    recorder.granted({count, thread, process, 0}, count);
    progress.acknowledged[process][thread].store(count, std::memory_order_release);
  }
}

int write_with_threads(HistoryFile& history, Progress& progress, std::uint32_t process) {
  std::vector<std::thread> writers;
  for (std::uint32_t thread = 0; thread < threads; ++thread) {
    writers.emplace_back(
        [&history, &progress, process, thread] { write_on(history, progress, process, thread); });
  }
  for (std::thread& writer : writers) {
    writer.join();
  }
  return 0;
}

// Each writer's events are 1, 2, ... without a gap, in this order, and at least as many as it was
// told had been written.
void expect_no_loss(const std::vector<Event>& events, const Progress& progress) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> last;
  for (const Event& event : events) {
    std::uint64_t& count = last[{event.process, event.owner}];
    ASSERT_EQ(event.token, count + 1) << "process " << event.process << " thread " << event.owner;
    ASSERT_EQ(event.name, event.process);
    ++count;
  }
  for (std::uint32_t process = 0; process < processes; ++process) {
    for (std::uint32_t thread = 0; thread < threads; ++thread) {
      const std::uint64_t told = progress.acknowledged[process][thread].load();
      const std::uint64_t kept = last[{process, thread}];
      EXPECT_GE(kept, told);
      // Killed between the append and the acknowledgement.
      EXPECT_LE(kept, told + 1);
    }
  }
}

TEST(History, LosesNothingCommittedWhenWritersAreKilled) {
  const TemporaryDirectory directory;
  // More than can be written before the stop below; a full file would end a writer with 125.
  HistoryFile history = HistoryFile::create(directory.file("history"), 8'000'000);
  const SharedProgress progress;
  std::vector<Process> children;
  for (std::uint32_t process = 0; process < processes; ++process) {
    children.push_back(Process::fork_child(
        [&, process] { return write_with_threads(history, *progress, process); }));
  }

  const auto wait_until = [&](std::uint64_t events) {
    const std::int64_t deadline = monotonic_ns() + 20'000'000'000;
    while (history.reserved() < events && monotonic_ns() < deadline) {
      std::this_thread::yield();
    }
    ASSERT_GE(history.reserved(), events);
  };
  ASSERT_NO_FATAL_FAILURE(wait_until(20'000));
  EXPECT_EQ(children[0].kill().signal, SIGKILL);
  ASSERT_NO_FATAL_FAILURE(wait_until(history.reserved() + 10'000));
  EXPECT_EQ(children[1].kill().signal, SIGKILL);
  ASSERT_NO_FATAL_FAILURE(wait_until(history.reserved() + 10'000));
  progress->stop = true;
  for (std::uint32_t process = 2; process < processes; ++process) {
    const std::optional<Exit> exit = children[process].wait_for(20s);
    ASSERT_TRUE(exit.has_value());
    EXPECT_EQ(exit->code, 0);
  }

  const std::vector<Event> events = history.read();
  EXPECT_GE(events.size(), 40'000U - 2 * threads);
  EXPECT_EQ(events.size() + history.unfinished(), history.reserved());
  EXPECT_LE(history.unfinished(), 2 * threads) << "a live writer left a slot";
  EXPECT_EQ(history.refused(), 0U);
  expect_no_loss(events, *progress);
}

TEST(History, SkipsTheSlotOfAWriterThatDiedBeforeItsCommit) {
  const TemporaryDirectory directory;
  HistoryFile history = HistoryFile::create(directory.file("history"), 8);
  const Recorder before(history, 0);
  static_cast<void>(before.invoke_acquire(0, 1));
  Process child = Process::fork_child([&history] {
    history.reserve();
    return ::raise(SIGKILL);
  });
  ASSERT_TRUE(child.wait_for(20s).has_value());
  static_cast<void>(before.invoke_acquire(0, 2));

  const std::vector<Event> events = history.read();
  EXPECT_EQ(history.reserved(), 3U);
  EXPECT_EQ(history.unfinished(), 1U);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].name, 1U);
  EXPECT_EQ(events[1].name, 2U);
  EXPECT_EQ(events[1].slot, 3U);
}

TEST(History, RefusesAloudWhenFullAndOverwritesNothing) {
  const TemporaryDirectory directory;
  HistoryFile history = HistoryFile::create(directory.file("history"), 4);
  const Recorder recorder(history, 0);
  const Hold hold = recorder.granted(recorder.invoke_acquire(0, 0), 1);
  recorder.returned(recorder.invoke_release(hold), Outcome::ok);
  EXPECT_TRUE(check(history).ok()) << check(history).text();

  EXPECT_THROW(static_cast<void>(recorder.invoke_acquire(0, 1)), HistoryFull);
  EXPECT_THROW(recorder.lost(hold), HistoryFull);
  EXPECT_EQ(history.refused(), 2U);
  const std::vector<Event> events = history.read();
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events.front().operation, Operation::acquire);
  EXPECT_EQ(events.back().operation, Operation::release);
  const Report report = check(history);
  EXPECT_FALSE(report.ok());
  EXPECT_TRUE(report.has(Fault::malformed));
  EXPECT_NE(report.text().find("was full: 2 events are missing"), std::string::npos)
      << report.text();
}

TEST(History, NamesTheFileThatItCannotUse) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("history");
  const auto message = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const HistoryError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_NE(message([&] { HistoryFile::open(path); }).find(path), std::string::npos);
  std::ofstream(path) << "not a history";
  EXPECT_NE(message([&] { HistoryFile::open(path); }).find("too short"), std::string::npos);
  std::filesystem::resize_file(path, 8192);
  EXPECT_NE(message([&] { HistoryFile::open(path); }).find("not a history"), std::string::npos);
  EXPECT_NE(message([&] { HistoryFile::create(path, 4); }).find("File exists"), std::string::npos);
  EXPECT_NE(message([&] { HistoryFile::create(directory.file("none"), 0); }).find("capacity"),
            std::string::npos);
  // More than any file system has; the attempt leaves nothing behind.
  const std::string huge = directory.file("huge");
  EXPECT_NE(message([&] { HistoryFile::create(huge, 4'000'000'000); }).find("cannot allocate"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(huge));
}

std::int64_t processor_time_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

TEST(History, RecordsAnEventInAFractionOfAMicrosecond) {
  const TemporaryDirectory directory;
  constexpr std::uint64_t events = 100'000;
  std::int64_t best = never;
  for (int round = 0; round < 3; ++round) {
    HistoryFile history = HistoryFile::create(directory.file(std::to_string(round)), events);
    const Recorder recorder(history, 0);
    const Hold hold = recorder.granted({1, 0, 0, 0}, 1);
    const std::int64_t begin = processor_time_ns();
    for (std::uint64_t i = 1; i < events; ++i) {
      recorder.renewed(hold, 1);
    }
    best = std::min(best, (processor_time_ns() - begin) / static_cast<std::int64_t>(events));
  }
  std::cout << "recorded in " << best << " ns an event\n";
  RecordProperty("ns_per_event", static_cast<int>(best));
  // Generous, for sanitizers. Without them it is about 100 ns.
  EXPECT_LT(best, 5'000);
}

}  // namespace
}  // namespace mortise::model
