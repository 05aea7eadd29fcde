// SPDX-License-Identifier: MIT
// The cases of `Once`: its first run beside a lock cycle of the same backend with the same bytes
// written beside, and a replay beside one bare read of them.
#include "case.hpp"
#include "once.hpp"
#include "raw_file.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

namespace mortise::bench {
namespace {

constexpr int many = 2000;
constexpr int few = 300;  // where each waits for the disk

struct Receipts {
  std::mutex mutex;
  std::map<std::string, std::string> of;
};

double memory_floor_of_run(Mode /*mode*/) {
  const auto receipts = std::make_shared<Receipts>();
  return p50_of(many, locked_write("memory:", [receipts](const std::string& name) {
                  const std::scoped_lock hold(receipts->mutex);
                  receipts->of[name] = receipt();
                }));
}

double memory_floor_of_replay(Mode /*mode*/) {
  Receipts receipts;
  receipts.of["bench"] = receipt();
  return p50_of(many, [&] {
    const std::scoped_lock hold(receipts.mutex);
    const std::string copy = receipts.of.at("bench");
    if (copy != receipt()) throw std::runtime_error("another receipt");
  });
}

double file_first_run(Mode /*mode*/) {
  const TemporaryDirectory directory;
  return p50_of(few, first_run("file://" + directory.path()));
}

// What is remembered is flushed, and so is a new name of the directory: here by hand, too. A run's
// begin is remembered before its body is called, so the lock is flushed as well; or not, to
// compare.
double file_locked_write(const std::string& parameters) {
  const TemporaryDirectory locks;
  const TemporaryDirectory receipts;
  int count = 0;
  return p50_of(
      few, locked_write("file://" + locks.path() + parameters, [&](const std::string& /*name*/) {
        write_durably(receipts.path(), std::to_string(++count), receipt());
      }));
}

double file_floor_of_run(Mode /*mode*/) { return file_locked_write("?flush=yes"); }
double file_unflushed_floor(Mode /*mode*/) { return file_locked_write(""); }

double file_replay(Mode /*mode*/) {
  const TemporaryDirectory directory;
  return p50_of(many, replay("file://" + directory.path()));
}

double file_floor_of_replay(Mode /*mode*/) {
  const TemporaryDirectory directory;
  write_durably(directory.path(), "bench", receipt());
  const std::string path = directory.path() + "/bench";
  return p50_of(many, [&] {
    if (read_whole(path) != receipt()) throw std::runtime_error("another receipt");
  });
}

}  // namespace

void add_once_cases(Cases& cases) {
  using enum Mode;
  add_once(cases, {same}, "memory", why_not_once("memory:"),
           {.ours = [](Mode) { return p50_of(many, first_run("memory:")); },
            .floor = memory_floor_of_run},
           {.ours = [](Mode) { return p50_of(many, replay("memory:")); },
            .floor = memory_floor_of_replay});
  const TemporaryDirectory some;
  add_once(cases, {same}, "file", why_not_once("file://" + some.path()),
           {.ours = file_first_run, .floor = file_floor_of_run, .goal = goal_of_first_run},
           {.ours = file_replay, .floor = file_floor_of_replay, .goal = goal_of_replay});
  add(cases, {same},
      {.name = "once/file_first_run_beside_unflushed",
       .unit = "us",
       .ours = file_first_run,
       .floor = file_unflushed_floor,
       .left_out = why_not_once("file://" + some.path())});
#ifdef MORTISE_WITH_REDIS
  add_redis_once(cases);
#endif
#ifdef MORTISE_WITH_ZOOKEEPER
  add_zookeeper_once(cases);
#endif
#ifdef MORTISE_WITH_POSTGRES
  add_postgres_once(cases);
#endif
}

}  // namespace mortise::bench
