// SPDX-License-Identifier: MIT
// The server of the memory backend: the requests of its clients. Each request settles its name
// first, as a server script would: it ends the holds whose lease has ended, and hands the name over
// to the waiters whose turn it is.
#pragma once

#include <mortise/listing.hpp>
#include <mortise/listing_operation.hpp>
#include <mortise/memory.hpp>
#include <mortise/operation.hpp>

#include "memory/name_table.hpp"
#include "memory/network.hpp"
#include "memory/remembered.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::memory {

/// The answer to a request.
struct Answer {
  Instant server_time{};
  std::optional<ServerGrant> grant{};      ///< the attempt owns the name
  std::uint64_t run = 0;                   ///< of a key: the number of its run
  std::shared_ptr<const Record> record{};  ///< of a key: its record, instead of a grant
  bool refused = false;                    ///< the attempt was taken back before: it never will
  std::uint32_t permits = 0;       ///< refused, since the name has so many, and not as asked
  std::optional<Holder> holder{};  ///< who holds it otherwise
};

/// The message to a waiter: it was granted the name, or what is remembered of the key.
struct Push {
  std::shared_ptr<Link> to;
  std::string name;
  Mode mode = Mode::exclusive;
  ServerGrant grant{};  ///< with a record: the attempt alone
  std::uint64_t run = 0;
  std::shared_ptr<const Record> record{};
};

/// @thread_safety every member may be called concurrently. Pushes are sent outside the mutex.
class Store {
 public:
  explicit Store(std::shared_ptr<Clock> clock) : clock_(std::move(clock)) {}

  Answer acquire(const Acquisition::Request& request, const std::shared_ptr<Link>& from);
  Answer cancel(const Acquisition::Request& request);
  enum class Ends : std::uint8_t {
    attempt,   ///< also what a copy of its request took since then
    grant,     ///< its attempt is over, but may hold by another one
    by_force,  ///< that grant alone: its client may not know of it, and ask again
  };
  /// @param conclusion what is written about a key where that very hold stands; may be null
  Released release(const HoldId& hold, Ends ends = Ends::attempt,
                   const Conclusion* conclusion = nullptr);
  struct Renewed {
    bool stands = false;  ///< then its lease begins anew
    bool wanted = false;  ///< another client waits, and the hold excludes it
  };
  Renewed renew(const HoldId& hold, std::chrono::nanoseconds lease);
  std::optional<Holder> inspect(const std::string& name);
  /// @param kind `forget` forgets the record of a key that is not running
  /// @return what was remembered of the key
  std::shared_ptr<const Record> recall(const std::string& key, Recollection::Kind kind);
  NamePage list(const Listing& asked);
  /// @param marks receives a mark of each holder
  NameQueue queue(const QueueLook& asked, std::vector<HoldMark>& marks);

  [[nodiscard]] Network& network() noexcept { return network_; }
  void restart();
  void drop(std::string_view name, Mode mode);
  [[nodiscard]] std::uint64_t requests() const;
  [[nodiscard]] std::size_t waiters() const;
  /// Looks, and settles nothing.
  [[nodiscard]] std::optional<Holder> holder(std::string_view name,
                                             Mode mode = Mode::exclusive) const;
  /// @return how many keys are remembered, including expired keys that are not removed yet.
  [[nodiscard]] std::size_t remembered() const;

 private:
  /// The data of a request, under the mutex.
  struct Visit {
    const std::string& text;
    Mode mode;
    Name& name;
    Instant now;
    std::vector<Push>& pushes;
  };
  /// Carries out the request under the mutex, and sends its pushes.
  template <class Request>
  void visit(const std::string& name, Mode mode, Request request);

  /// Const as the store is.
  template <class Self>
  [[nodiscard]] static auto& names_of(Self& store, Mode mode) noexcept {
    if (mode == Mode::permit) return store.semaphores_;
    return mode == Mode::once ? store.keys_ : store.locks_;
  }
  void settle(const Visit& at);
  void hand_over(const Visit& at);
  /// @return of a key: the number of its run
  std::uint64_t grant(const Visit& at, const Acquisition::Request& request,
                      std::chrono::nanoseconds lease);
  void answer(const Visit& at, const Acquisition::Request& request, Answer& answer) const;
  /// @return the record that answers a request for a key; null: the request has to run the key, or
  /// to wait.
  [[nodiscard]] std::shared_ptr<const Record> record_for(const Acquisition::Request& request,
                                                         const Name& name) const;
  void push_records(const Visit& at);
  /// Removes a few expired keys: every request for a key does so.
  void sweep(Instant now, std::vector<Push>& pushes);
  void leave_tombstone(const Visit& at, const AttemptId& attempt) const;

  const std::shared_ptr<Clock> clock_;
  Network network_;
  mutable std::mutex mutex_;
  NameTable locks_;
  NameTable keys_;
  NameTable semaphores_;
  Remembered remembered_;
  // One number for all names grows at every grant, so that none is lost with an idle name.
  std::uint64_t last_number_ = 0;
  std::uint64_t requests_ = 0;
};

}  // namespace mortise::memory
