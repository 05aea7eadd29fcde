// SPDX-License-Identifier: MIT
// One thread of one client process that runs keys of `Once`, looks at them, and is told of them, in
// every way that there is. A run is recorded as a hold; beside it the book has what was said of the
// key.
#pragma once

#include <mortise/client.hpp>
#include <mortise/once.hpp>

#include "model/dice.hpp"
#include "model/history_worker.hpp"
#include "model/keys_book.hpp"
#include "model/recorder.hpp"
#include "model/stage.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

namespace mortise::model {

// How all callers of a key repeat it.
[[nodiscard]] Repeat repeat_of_key(std::uint32_t key) noexcept;

// `book` outlives the stage's workload.
[[nodiscard]] MakePlayer that_runs_keys(KeyBook& book);

class KeyWorker final : public Player {
 public:
  KeyWorker(const Company& company, std::uint32_t owner, KeyBook& book);

  // Runs the keys that are in use to their end once more, and looks at those that ended long ago.
  void run() noexcept override;

 private:
  // What it is to do with a run, unless the process dies.
  enum class Plan : std::uint8_t { succeed, fail, give_back };
  struct Manner {
    OnceOptions options;
    Plan plan = Plan::succeed;
    bool by_hand = false;     // begin(), and not run()
    bool oversleeps = false;  // without renewal, beyond its lease
    bool lasts = false;       // for up to two leases, by renewals
  };
  struct Asked {
    KeyCall call;
    Attempt attempt;
    std::uint32_t key = 0;
  };
  struct Held {
    Run& run;
    Hold hold;
    std::int64_t deadline = no_deadline;  // as recorded
    bool knows_of_loss = false;
  };
  class Dead {};     // thrown through a body whose process is to be taken for dead
  class Refuses {};  // thrown by a body that fails

  [[nodiscard]] std::uint32_t any_key();
  [[nodiscard]] Manner draw();
  [[nodiscard]] Once handle(std::uint32_t key, const Manner& manner);
  // Whether it was told an outcome that stands.
  bool cycle(std::uint32_t key, const Manner& manner);
  bool by_hand(const Asked& asked, Once& once, const Manner& manner);
  bool by_body(const Asked& asked, Once& once, const Manner& manner);
  bool told(const Asked& asked, const mortise::Outcome& outcome, std::error_code why,
            std::error_code contention);
  void look_at(std::uint32_t key);
  void ask_for_another(std::uint32_t key);

  [[nodiscard]] Held begun(const Asked& asked, Run& run);
  void work(Held& held, const Manner& manner);
  bool look(Held& held);
  void note_loss(const Held& held);
  // Writes down what it is about to say, and returns the bytes.
  [[nodiscard]] std::string concluding(const Asked& asked, KeyState state);
  bool concluded(const Asked& asked, const Held& held, const RecordedCall& call,
                 const mortise::Outcome& outcome, std::error_code why, const std::string& bytes);
  void see_that_all_is_well();
  // Remembers what it was told, for the sentence of a surprise.
  bool is(bool ended, const std::string& answer);
  void surprise(const std::string& what);
  [[nodiscard]] bool over() const { return company_.dead.load(); }
  [[nodiscard]] std::int64_t now() const { return company_.recorder.now(); }

  Company company_;
  const contract::Shared<Tally>& tally_;
  const std::uint32_t number_;
  const KeyCall who_;
  KeyBook& book_;
  Dice dice_;
  std::string last_answer_ = "nothing";
  std::optional<Client> unrenewed_;
};

}  // namespace mortise::model
