// SPDX-License-Identifier: MIT
// One thread of one client process: takes locks in every way that there is, works under them, gives
// them back, and records what it saw. What it believes of a hold it has from the hold's own looks.
#pragma once

#include <mortise/client.hpp>
#include <mortise/owner.hpp>

#include "model/dice.hpp"
#include "model/grip.hpp"
#include "model/recorder.hpp"
#include "model/resource.hpp"
#include "model/stage.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <system_error>
#include <vector>

namespace mortise::model {

// Where the threads of a process find the attempts of the others that may be cancelled.
class Cancellable {
 public:
  std::stop_token begin() {
    const std::lock_guard lock(mutex_);
    source_ = std::stop_source();
    return source_.get_token();
  }
  void cancel() {
    std::stop_source source(std::nostopstate);
    {
      const std::lock_guard lock(mutex_);
      source = source_;
    }
    source.request_stop();
  }

 private:
  std::mutex mutex_;
  std::stop_source source_;
};

// What the threads of one process share.
struct Company {
  Stage& stage;
  Client& client;
  const Recorder& recorder;
  const std::uint32_t process;
  // A process that is to be taken for dead: none of its threads records or writes any more.
  const std::atomic<bool>& dead;
  // What its clients ask arrives no more once this is set: see CutRelay.
  std::shared_ptr<const std::atomic<bool>> cut;
  std::vector<Cancellable>& attempts;
};

class HistoryWorker final : public Player {
 public:
  HistoryWorker(const Company& company, std::uint32_t owner);

  // Takes each name once more in the end.
  void run() noexcept override;

 private:
  struct Manner {
    AcquireOptions options;
    bool oversleeps = false;  // takes the lock without renewal, and works blindly
    bool shared = false;
  };
  struct Held {
    Grip& grip;
    Owner owner;
    Hold hold;
    std::int64_t deadline = no_deadline;  // as recorded
    bool knows_of_loss = false;
  };

  Manner draw();
  bool cycle(std::uint32_t name, const Manner& manner);
  void work(Held& held);
  void oversleep(Held& held);
  void reenter(Held& held);
  bool look(Held& held);
  void note_loss(const Held& held, const char* how);
  void write(Held& held);
  void give_back(Held& held);
  void refused(const Attempt& attempt, std::error_code why);
  void take_each_once_more();
  void surprise(const std::string& what);
  [[nodiscard]] bool over() const { return company_.dead.load(); }

  Company company_;
  const contract::Shared<Tally>& tally_;
  std::uint32_t number_;
  Dice dice_;
  ResourceClient resource_;
  // One for each name.
  using Grips = std::vector<std::unique_ptr<Grip>>;
  [[nodiscard]] Grips grips(bool renew, bool shared) const;
  Grips renewed_;
  Grips unrenewed_;
  Grips shared_;
  Grips shared_unrenewed_;
};

}  // namespace mortise::model
