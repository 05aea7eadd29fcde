// SPDX-License-Identifier: MIT
// Which statement a text is. The library's are known by the very texts that it sends.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace simulation::postgres {

enum class Statement : std::uint8_t {
  unknown,
  look,
  take,
  take_key,
  take_permit,
  cancel,
  cancel_key,
  cancel_permit,
  release,
  release_key,
  release_permit,
  renew,             ///< which the library calls by `renew_all` only
  renew_share,       ///< the same
  renew_share_gate,  ///< the same
  renew_all,
  wake,
  census,
  inspect,
  look_key,
  forget_key,
  conclude_key,
  conclude_in,
  force_release,
  greet,
  check,
  session,
  guard,
  lock_in,
  begin,
  commit,
  rollback,
  savepoint,
  rollback_to,
  release_savepoint,
  listen,
  unlisten,
  notify,
  set,
  set_local,
  lock_row,  ///< an administrator's SELECT ... FOR ...
  select_one,
  nothing,  ///< an empty one
};

/// Where a process is with a statement.
enum class Point : std::uint8_t {
  begins,   ///< nothing has happened yet
  commits,  ///< it is on disk and at the standby; its rows are locked still
  answers,  ///< it is committed, and not a word of that has left
};

/// A statement and its words: an identifier, an isolation level.
struct Parsed {
  Statement statement = Statement::unknown;
  std::string text{};
  std::vector<std::string> words{};
};

class StatementTexts {
 public:
  explicit StatementTexts(const std::string& schema);
  [[nodiscard]] Parsed recognise(std::string_view text) const;
  /// Divides what is sent as one text into statements.
  [[nodiscard]] std::vector<Parsed> recognise_all(std::string_view text) const;

 private:
  std::map<std::string, Statement, std::less<>> known_;
};

}  // namespace simulation::postgres
