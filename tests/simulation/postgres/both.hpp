// SPDX-License-Identifier: MIT
// The model and a real server side by side, with one clock: each statement goes to both.
#pragma once

#include "simulation/postgres/direct.hpp"
#include "support/postgres_server.hpp"

#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace simulation::postgres {

/// A statement for both.
struct Question {
  std::string words{};                         ///< for people
  std::string real{};                          ///< its text for the real server
  std::vector<std::string> real_arguments{};   ///< as text
  std::string model{};                         ///< for the model
  std::vector<std::string> model_arguments{};  ///< in binary form
};

class Both {
 public:
  /// @param sessions of which the last one only listens
  Both(mortise::test::PostgresServer& server, const std::string& schema, std::size_t sessions,
       std::uint64_t seed);

  void set_clock(Moment moment);
  [[nodiscard]] Moment clock() const noexcept { return clock_; }
  /// @return "" = both gave the same; else what each of them did
  std::string ask(std::size_t session, const Question& question);
  /// Compares tables, and what was told since. @return as `ask()`
  std::string compare();
  [[nodiscard]] const PostgresModel& model() const noexcept { return model_; }
  bool make_mistake(std::string_view name) { return model_.make_mistake(name); }
  /// @return as text what the model's session gave last.
  [[nodiscard]] const Answers& last() const noexcept { return last_; }

 private:
  /// The tables that are made more than once: `lock`, `run` or `gate`, and their tickets.
  [[nodiscard]] std::string compare_rows(const std::string& table);
  [[nodiscard]] std::string compare_tickets(const std::string& table);
  [[nodiscard]] std::string compare_shares(bool permits);
  [[nodiscard]] std::string compare_keys();
  [[nodiscard]] std::string compare_notifications();

  const std::string schema_;
  Moment clock_ = 0;
  DirectSite site_;
  PostgresModel model_;
  mortise::test::PostgresTalk owner_;
  std::vector<std::unique_ptr<mortise::test::PostgresTalk>> real_;
  std::vector<std::unique_ptr<DirectTalk>> talks_;
  Answers last_{};
};

}  // namespace simulation::postgres
