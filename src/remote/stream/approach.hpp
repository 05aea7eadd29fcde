// SPDX-License-Identifier: MIT
// Opens a stream to an address: looks up its name or calls the user's connector, and tries the
// addresses of the name.
#pragma once

#include <mortise/connector.hpp>
#include <mortise/error.hpp>

#include "base/address.hpp"
#include "base/resolver.hpp"
#include "remote/dialer.hpp"
#include "remote/link.hpp"
#include "remote/stream/stream_race.hpp"
#include "remote/timer.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace mortise::remote {

/// It never blocks. The caller polls `descriptor()`, and calls `advance()` if that is ready, and at
/// `due()`.
/// @thread_safety one thread at a time; `interest()`, `due()` and the descriptor for every thread
class Approach {
 public:
  enum class Step : std::uint8_t {
    waits,    ///< for the name, or for the connector
    goes_on,  ///< with an address, which has a time of its own
    arrived,  ///< take the stream by `take()`
    failed,   ///< see `failure()`
  };

  /// @param tls, descriptor outlive it; tls may be null
  /// @param connector makes the connections; null = the library makes them
  /// @param descriptor the descriptor to poll, for every thread
  /// @param step the time of one address for each step; see `connect_limit()`
  Approach(const Tls* tls, const std::shared_ptr<const Connector>& connector, base::Address address,
           std::atomic<int>& descriptor, std::chrono::nanoseconds step = connect_time);

  void start();
  /// The same, to another address from now on.
  void start(base::Address address);
  /// Goes to exactly this endpoint. @param host the name in its certificate; empty = the last one
  void start(const Endpoint& only, const std::string& host);
  [[nodiscard]] Step advance(Instant now);
  /// @return true if there are addresses to go on with after the one that arrived.
  [[nodiscard]] bool has_more() const noexcept { return race_.has_more(); }
  [[nodiscard]] std::unique_ptr<Stream> take() noexcept { return race_.take(); }
  /// @return since when the address that arrived was tried.
  [[nodiscard]] Instant since() const noexcept { return race_.since(); }
  [[nodiscard]] const Failure& failure() const noexcept { return failure_; }
  /// @return true if it knows the addresses and tries them.
  [[nodiscard]] bool connects() const noexcept { return stage_ == Stage::connecting; }
  /// @return true if connections are not encrypted.
  [[nodiscard]] bool is_plain() const noexcept { return tls_ == nullptr; }
  /// @return the name of the server.
  [[nodiscard]] const std::string& host() const noexcept { return address_.host; }
  /// The server at that address was accepted: the next approach tries it first.
  void remember(const Endpoint& good) { race_.remember(good); }
  /// The connection ended, or could not be made.
  void end() noexcept;
  /// Keeps no descriptor and no memory between two approaches.
  void rest() noexcept;
  void close() noexcept;

  [[nodiscard]] const char* words_of(Link::End end) const noexcept;

  // Every thread, while the link is resolving or connecting.
  [[nodiscard]] short interest() const noexcept { return interest_.load(); }
  [[nodiscard]] Instant due() const noexcept { return due_.get(); }

 protected:
  [[nodiscard]] Step fail(std::error_code code, std::string text);
  void show(int descriptor, short interest, Instant due) noexcept;

 private:
  enum class Stage : std::uint8_t { idle, dialing, resolving, connecting };

  [[nodiscard]] Step look_up(Instant now);
  [[nodiscard]] Step dial(Instant now);
  [[nodiscard]] Step race(Instant now);

  const Tls* const tls_;
  Stage stage_ = Stage::idle;
  base::Address address_;  // of the server that is connected to, or looked up
  base::Resolver resolver_;
  std::optional<Dialer> dialer_;  // if connections are the user's
  StreamRace race_;
  Failure failure_;
  std::atomic<int>& descriptor_;
  std::atomic<short> interest_;
  Moment due_;
};

}  // namespace mortise::remote
