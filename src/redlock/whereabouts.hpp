// SPDX-License-Identifier: MIT
// Which server each address leads to, and whether two lead to one: a mistake in the configuration,
// which the caller is told. It counts no votes (see roll.hpp), and connects nothing.
#pragma once

#include <mortise/clock.hpp>

#include "redlock/quorum.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::redlock {

/// @return a number that identifies a server.
[[nodiscard]] inline std::uint64_t server_of(const std::string& run_id) {
  return std::hash<std::string>()(run_id);
}
/// @return the name of whichever server an address leads to that has led nowhere yet.
[[nodiscard]] constexpr std::uint64_t unmet(std::size_t address) noexcept { return address + 1; }

/// For so long what was found is told to whoever asks. Then it is looked at again first: an
/// operator has mended what was wrong, perhaps.
constexpr std::chrono::seconds news_for{2};

/// A connection tells where its address led when it was made. An address that leads elsewhere since
/// does not show, nor does a connection that broke and that nobody has read from; so two are said
/// to be one server only by two connections that were made of late. Of an older one that says so
/// its address is *in doubt*, until it was connected to once more, or cannot be.
/// @thread_safety every member may be called concurrently; it calls nobody.
class Whereabouts {
 public:
  using Twins = std::pair<std::size_t, std::size_t>;

  explicit Whereabouts(std::size_t addresses) : places_(addresses) {}

  /// The address is connected to that server.
  void arrived(std::size_t address, const std::string& run_id, Instant now);
  /// @param was_up it was connected, and is not any more; false: it cannot be connected
  /// @return whether all is clear by that, and was not
  bool left(std::size_t address, bool was_up);
  /// @return the addresses that came to be in doubt now: to be connected anew
  [[nodiscard]] NodeSet doubt(Instant now);
  /// They are in doubt, too: to be connected anew.
  void distrust(NodeSet addresses);
  [[nodiscard]] bool in_doubt(std::size_t address) const;
  /// @return whether it leads to a server that another address leads to as well.
  [[nodiscard]] bool astray(std::size_t address) const;
  /// @return whether no two lead to one server as far as anybody knows, and none is in doubt.
  [[nodiscard]] bool clear() const noexcept { return clear_.load(); }
  /// @return two that lead to one server; none where that is in doubt, or has to be.
  [[nodiscard]] std::optional<Twins> twins(Instant now) const;

 private:
  struct Place {
    std::string run_id{};  // empty = not connected
    Instant since{};
  };
  [[nodiscard]] std::vector<Twins> all_twins() const;
  [[nodiscard]] bool is_old(std::size_t address, Instant now) const;
  void note_clear();

  mutable std::mutex mutex_;
  std::vector<Place> places_;
  NodeSet doubts_ = 0;
  std::atomic<bool> clear_{true};
};

}  // namespace mortise::redlock
