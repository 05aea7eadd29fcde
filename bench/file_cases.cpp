// SPDX-License-Identifier: MIT
// The file backend beside a program that locks a file by hand. The directory is a temporary one:
// set TMPDIR to measure another disk.
#include <mortise/mortise.hpp>

#include "case.hpp"
#include "figure.hpp"
#include "handoff.hpp"
#include "process.hpp"
#include "raw_file.hpp"
#include "shape_cycles.hpp"

#include <cstdlib>
#include <memory>
#include <string>

namespace mortise::bench {
namespace {

constexpr const char* name = "bench/file";
constexpr int many = 2000;
constexpr int few = 300;  // where each waits for the disk

/// @return the p50 of one cycle in microseconds.
double cycle_of(const std::string& parameters, int samples, int batch) {
  const TemporaryDirectory directory;
  Client client("file://" + directory.path() + parameters);
  Lock lock = client.make_lock(name);
  return p50(samples,
             [&] {
               return timed(batch, [&] {
                 lock.lock();
                 lock.unlock();
               });
             }) /
         1000;
}

double cycle(Mode /*mode*/) { return cycle_of("", many, 8); }
double flushed_cycle(Mode /*mode*/) { return cycle_of("?flush=yes", few, 1); }
double unflushed_cycle(Mode /*mode*/) { return cycle_of("?flush=no", few, 1); }

/// Of open, lock, read and write of a counter, unlock, close.
double raw_cycle(Mode /*mode*/) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/raw";
  return p50(many,
             [&] {
               return timed(8, [&] {
                 const RawFile file(path);
                 if (!file.try_lock()) std::abort();  // nobody else knows the file
                 file.count();
                 file.unlock();
               });
             }) /
         1000;
}

/// The same without open and close, and with a flush where wanted.
double raw_cycle_of_open_file(int samples, int batch, bool flush) {
  const TemporaryDirectory directory;
  const RawFile file(directory.path() + "/raw");
  return p50(samples,
             [&] {
               return timed(batch, [&] {
                 if (!file.try_lock()) std::abort();
                 file.count();
                 if (flush) file.flush();
                 file.unlock();
               });
             }) /
         1000;
}

double raw_open_cycle(Mode /*mode*/) { return raw_cycle_of_open_file(many, 8, false); }
double raw_flushed_cycle(Mode /*mode*/) { return raw_cycle_of_open_file(few, 1, true); }

double handoff_between_processes(Mode mode) {
  const TemporaryDirectory directory;
  return handoff(mode, Sides::processes, [&](int) -> Baton {
    const auto client = std::make_shared<Client>("file://" + directory.path());
    const auto lock = std::make_shared<Lock>(client->make_lock(name));
    return {.take = [client, lock] { lock->lock(); }, .give = [client, lock] { lock->unlock(); }};
  });
}

double raw_handoff(Mode mode) {
  const TemporaryDirectory directory;
  const Shared<std::atomic<std::uint32_t>> freed;
  return handoff(mode, Sides::processes,
                 [&](int) { return raw_file_baton(directory.path() + "/raw", *freed); });
}

}  // namespace

void add_file_cases(Cases& cases) {
  using enum Mode;
  add(cases, {same},
      {.name = "file/cycle", .unit = "us", .ours = cycle, .floor = raw_cycle, .goal = 2.0});
  add(cases, {same},
      {.name = "file/cycle_beside_open_file",
       .unit = "us",
       .ours = cycle,
       .floor = raw_open_cycle});
  add(cases, {same, crossed, unpinned},
      {.name = "file/handoff",
       .unit = "us",
       .ours = handoff_between_processes,
       .floor = raw_handoff});
  add(cases, {same},
      {.name = "file/flushed_cycle",
       .unit = "us",
       .ours = flushed_cycle,
       .floor = raw_flushed_cycle});
  add(cases, {same},
      {.name = "file/flushed_beside_unflushed",
       .unit = "us",
       .ours = flushed_cycle,
       .floor = unflushed_cycle});
  add_shape_cycles(cases, {same}, "file", 8, [](Mode) {
    auto directory = std::make_shared<TemporaryDirectory>();
    return Bed{"file://" + directory->path(), directory};
  });
}

}  // namespace mortise::bench
