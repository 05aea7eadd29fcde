// SPDX-License-Identifier: MIT
// The library's requests as statements: which arguments each gets is said here and in the SQL,
// nowhere else.
#pragma once

#include <mortise/listing_operation.hpp>
#include <mortise/operation.hpp>

#include "postgres/call.hpp"
#include "postgres/pq.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::postgres {

/// A statement that is prepared once a connection, where it has a name.
struct Statement {
  std::string name{};
  std::string text{};
  Arguments like{};         ///< arguments of the right types
  bool later = false;       ///< prepared when a key or a permit needs it: owners pay nothing
  bool tells_time = false;  ///< the first column is the server's clock when it began
  bool takes = false;       ///< the last argument is the moment after which it takes nothing
};

/// @return a text with its schema and role filled in.
[[nodiscard]] std::string fill_in(std::string_view text, std::string_view schema,
                                  std::string_view role = {});
/// @return a call of a function for a hold, as at_home.sql says: "guard($1, $2)".
/// @param first the number of the first argument behind those of the call
[[nodiscard]] std::string at_home(std::string_view call, std::string_view schema,
                                  std::size_t first);
/// An attempt as the server knows it.
struct AttemptBytes {
  std::array<char, 24> bytes{};
  [[nodiscard]] std::string_view view() const noexcept { return {bytes.data(), bytes.size()}; }
};
[[nodiscard]] AttemptBytes attempt_bytes(const AttemptId& attempt) noexcept;

/// @thread_safety constant.
class Statements {
 public:
  Statements(const std::string& schema, bool fair);

  [[nodiscard]] const std::vector<Statement>& all() const noexcept { return all_; }
  [[nodiscard]] const Statement& of(const Call& call) const noexcept {
    return all_[place_of(call.text, call.space)];
  }
  [[nodiscard]] const std::string& greet() const noexcept { return greet_; }
  [[nodiscard]] const std::string& session() const noexcept { return session_; }
  /// @return how a client hears of what is freed, given any attempt of it.
  [[nodiscard]] std::string listen(const AttemptId& of_client) const;

  /// Of an owner, a reader, or a permit. The moment is given when it leaves.
  /// @param waits whether it is to be told of a release
  /// @param pooled whether the session may be anybody's
  [[nodiscard]] Arguments take(const Acquisition::Request& request, bool waits, bool pooled) const;
  /// The same of a key.
  [[nodiscard]] Arguments take_key(const Acquisition::Request& request, bool waits) const;
  /// @param in_doubt whether another request of the attempt may be under way
  [[nodiscard]] static Arguments cancel(const Acquisition::Request& request, bool in_doubt);
  /// @param known see mortise.cancel_key() of sql/once_begin.sql
  [[nodiscard]] static Arguments cancel_key(const Acquisition::Request& request, bool in_doubt,
                                            std::int64_t known);
  [[nodiscard]] static Arguments release(const HoldId& hold, bool pooled);
  /// The same of a key. @param undoes whether the outcome before the run is to stand again
  [[nodiscard]] static Arguments release_key(const HoldId& hold, bool undoes);
  [[nodiscard]] static Arguments conclude(const HoldId& hold, const Conclusion& conclusion);
  /// Holds of all kinds. The answers come in the order of `owners_first()`.
  [[nodiscard]] static Arguments renew(const std::vector<Renewal::Item>& items);
  [[nodiscard]] static Arguments inspect(std::string_view name);
  /// @param what it forgets, and nothing that came later: see `Recalled::what()`
  [[nodiscard]] static Arguments forget(std::string_view key, std::int64_t what);
  [[nodiscard]] static Arguments list(const Listing& listing);
  [[nodiscard]] static Arguments queue(std::string_view name, std::size_t limit);
  /// Takes the lock with the empty name, which no client uses, for one microsecond: it is free
  /// again before the server answers. `check()` thereby finds what keeps the server from writing.
  [[nodiscard]] static Arguments write();
  [[nodiscard]] static Arguments force_release(const HoldId& hold);
  /// Then the keys, readers, and permits.
  [[nodiscard]] static std::vector<std::size_t> owners_first(
      const std::vector<Renewal::Item>& items);
  [[nodiscard]] static Arguments wake(const std::vector<std::string>& names,
                                      const std::vector<std::string>& keys,
                                      const std::vector<std::string>& semaphores);
  [[nodiscard]] static Arguments census(const std::vector<std::int64_t>& processes);

 private:
  static constexpr std::size_t spaces = 3;
  [[nodiscard]] static constexpr std::size_t place_of(Call::Text text, Mode space) noexcept {
    const std::size_t behind = space == Mode::once ? 1 : space == Mode::permit ? 2 : 0;
    return static_cast<std::size_t>(text) * spaces + behind;
  }
  void add(Call::Text text, Mode space, Statement statement) {
    all_[place_of(text, space)] = std::move(statement);
  }

  const bool fair_;
  const std::string schema_;
  std::vector<Statement> all_;  // by text and space; most texts have one space
  std::string greet_;
  std::string session_;
};

}  // namespace mortise::postgres
