// SPDX-License-Identifier: MIT
// A play and its actors: scenes of a few clients that a test directs step by step, each on a thread
// of its own, while they record what they believe. What is judged is the record (checker.hpp).
#pragma once

#include <mortise/backend.hpp>
#include <mortise/client.hpp>

#include "model/checker.hpp"
#include "model/recorder.hpp"
#include "model/resource.hpp"
#include "model/story_time.hpp"
#include "model/temporary.hpp"
#include "support/contract_worker.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <system_error>
#include <utility>

namespace mortise::model {

// Of a hold in a scene, unless it says otherwise. It is not renewed.
inline constexpr std::chrono::milliseconds scene_lease{600};

using Wrap = std::function<std::unique_ptr<Backend>(std::unique_ptr<Backend>)>;

// What all scenes need: a server, given by how its clients reach it, its time and the history.
struct Play {
  using Connect = std::function<std::unique_ptr<Backend>()>;

  explicit Play(Connect how, std::shared_ptr<ManualClock> clock = nullptr)
      : connect(std::move(how)), time(std::move(clock)) {}

  const Connect connect;
  StoryTime time;
  const TemporaryDirectory directory;
  HistoryFile history = HistoryFile::create(directory.file("history"), 1'000);
  std::uint32_t processes = 0;

  [[nodiscard]] Report check(bool loss_excuses = false) const {
    return model::check(history, {.names = {"n"}, .loss_excuses = loss_excuses});
  }
};

// A client process of one thread, and what it believes of the name "n".
class Actor {
 public:
  Actor(Play& play, const Wrap& wrap,
        const LockOptions& options = {.lease = scene_lease, .renew = false})
      : recorder_(play.history, play.processes++, [&play] { return play.time.now(); }),
        client_(wrap ? wrap(play.connect()) : play.connect(),
                {.turn_handoffs = 0, .clock = play.time.clock()}),
        lock_(client_.make_lock("n", options)) {}

  // On a thread of its own, which the library takes for the owner.
  bool take(std::chrono::nanoseconds wait = {}) { return start_taking(wait).get(); }
  std::future<bool> start_taking(std::chrono::nanoseconds wait) {
    return thread_.start([this, wait] {
      const Attempt attempt = recorder_.invoke_acquire(0, 0);
      std::error_code why;
      if (!lock_.acquire({.wait = wait}, why)) {
        recorder_.returned(attempt, Outcome::fail);
        return false;
      }
      const std::int64_t before = recorder_.now();
      deadline_ = before + lock_.valid_for().count();
      hold_ = recorder_.granted(attempt, lock_.token().value(), deadline_);
      return true;
    });
  }
  // Looks whether it still holds, and believes what it sees.
  bool look() {
    return thread_.run([this] {
      const std::int64_t before = recorder_.now();
      const std::chrono::nanoseconds valid = lock_.valid_for();
      if (valid.count() == 0) {
        recorder_.lost(hold_);
      } else if (before + valid.count() > deadline_) {
        deadline_ = before + valid.count();
        recorder_.renewed(hold_, deadline_);
      }
      return valid.count() > 0;
    });
  }
  void give_back() { start_giving_back().get(); }
  std::future<void> start_giving_back() {
    return thread_.start([this] {
      const RecordedCall call = recorder_.invoke_release(hold_);
      const Released outcome = lock_.release();
      recorder_.returned(call, outcome == Released::released   ? Outcome::ok
                               : outcome == Released::was_lost ? Outcome::was_lost
                                                               : Outcome::unknown);
    });
  }
  // Writes to the resource as if it still held, whether it does or not.
  bool write(ResourceClient& resource) {
    const RecordedCall call = recorder_.invoke_write(hold_);
    const bool accepted = resource.write(0, hold_.token, 1).accepted;
    recorder_.returned(call, accepted ? Outcome::ok : Outcome::fail);
    return accepted;
  }
  // Whether it has gone to sleep over what it was told to do.
  bool waits() { return thread_.falls_asleep(); }
  std::chrono::nanoseconds valid_for() {
    return thread_.run([this] { return lock_.valid_for(); });
  }

 private:
  const Recorder recorder_;
  Client client_;
  Lock lock_;
  Hold hold_;
  std::int64_t deadline_ = 0;
  contract::Worker thread_;
};

}  // namespace mortise::model
