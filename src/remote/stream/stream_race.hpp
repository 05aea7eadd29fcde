// SPDX-License-Identifier: MIT
// Connects to one of the addresses of a name: carries out an AddressRace with streams.
#pragma once

#include "remote/stream/address_race.hpp"
#include "remote/stream/stream.hpp"
#include "remote/stream/tls.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::remote {

/// It never blocks: whoever drives it polls its descriptor, and calls `advance()` when that is
/// ready, or at `due()`. It remembers the last good address, and tries that one first.
/// @thread_safety one thread at a time
class StreamRace {
 public:
  /// @param tls outlives it; null = not encrypted
  /// @param step the time of one address for each step; see `connect_limit()`
  StreamRace(const Tls* tls, std::chrono::nanoseconds step) : tls_(tls), race_(step) {}

  /// @param endpoints at least one
  /// @param host what a certificate has to be for
  void start(std::vector<Endpoint> endpoints, std::string host);
  /// The same with one stream, which connects already.
  void start(std::unique_ptr<Stream> only);
  enum class Status { again, connected, failed };
  /// @return `connected`: take it by `take()`; `failed`: see `failure()`. After `connected` it goes
  /// on with the other addresses.
  [[nodiscard]] Status advance(Instant now);
  [[nodiscard]] std::unique_ptr<Stream> take() noexcept { return std::move(winner_); }
  /// @return since when the one that connected was tried.
  [[nodiscard]] Instant since() const noexcept { return since_; }
  /// @return whether there are other addresses to go on with.
  [[nodiscard]] bool has_more() const noexcept { return race_.has_more(); }
  /// @return why the last address failed.
  [[nodiscard]] const Failure& failure() const noexcept { return failure_; }
  /// The server at that address is the right one.
  void remember(const Endpoint& good) { good_ = good.text(); }
  /// Closes all.
  void end() noexcept { running_.clear(); }

  [[nodiscard]] int descriptor() const noexcept;
  [[nodiscard]] short interest() const noexcept;
  [[nodiscard]] Instant due() const noexcept { return due_; }

 private:
  struct Running {
    std::size_t address = 0;
    std::unique_ptr<Stream> stream{};
  };
  [[nodiscard]] std::optional<Status> look_at_each(Instant now);
  void open(std::size_t address);
  void give_up(std::size_t address);

  const Tls* const tls_;
  AddressRace race_;
  std::vector<Endpoint> endpoints_;
  std::string host_;
  std::string good_;
  std::vector<Running> running_;   // the newest last
  std::unique_ptr<Stream> given_;  // and not opened here
  std::unique_ptr<Stream> winner_;
  Instant since_{};
  Failure failure_;
  Instant due_ = never;
};

}  // namespace mortise::remote
