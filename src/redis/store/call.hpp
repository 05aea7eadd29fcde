// SPDX-License-Identifier: MIT
// One command on its way: what was asked for whom, until the server has answered. It is made of an
// operation and knows which: who reads the answer, or sends it once more, asks the call for the
// operation as what it is.
#pragma once

#include <mortise/listing.hpp>
#include <mortise/listing_operation.hpp>
#include <mortise/operation.hpp>

#include "remote/call.hpp"
#include "remote/outbox.hpp"
#include "remote/void_moment.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::redis {

struct Answer;
class Server;

/// Attempts that wait in queues of one server.
class Places final : public Operation {
 public:
  explicit Places(std::vector<std::shared_ptr<Acquisition>> waiters)
      : waiters_(std::move(waiters)) {}
  [[nodiscard]] const std::vector<std::shared_ptr<Acquisition>>& waiters() const noexcept {
    return waiters_;
  }

 private:
  const std::vector<std::shared_ptr<Acquisition>> waiters_;
};

/// For the answer to what has no lease of its own.
inline constexpr std::chrono::seconds patience{1};

struct Call : remote::Call {
  enum class Kind : std::uint8_t {
    acquire,
    cancel,
    renew,
    release,
    inspect,
    check,
    force,
    recall,
    list,
    queue,
    ask,
    slots,
  };
  /// The bytes that were written for a connection.
  struct Written {
    std::uint64_t generation = 0;  ///< of that connection
    std::uint8_t script = 0;       ///< the user's own number of it
    bool whole = false;            ///< with the script's text: see LoadedScripts
    bool goes_on = false;          ///< a release: they name its successor
    bool decided = false;          ///< a cancel: its attempt was decided by then
    remote::VoidTime void_time{};  ///< of an acquire, or of the successor
  };
  /// The server that it goes to.
  struct Route {
    Server* at = nullptr;     ///< in a cluster: this one, whichever has the name; null = that one
    std::size_t node = 0;     ///< of a quorum: by this address
    bool asks_first = false;  ///< an ASKING goes before it, and is answered as well
    bool awaits_asking = false;  ///< the connection's own: the answer to that has not come
    std::uint8_t moves = 0;      ///< how often it was sent elsewhere
  };

  Kind kind = Kind::check;
  /// It was sent before, and not answered. An acquire: a request for its attempt was sent before.
  bool copies = false;
  bool wanted_inbox = false;  ///< a check: it has had the inbox opened
  std::uint32_t tag = 0;      ///< the user's own
  Written written{};
  Route route{};
  /// recall: which record it forgets; null = it looks for one
  std::shared_ptr<const Answer> found{};
  remote::Patience patience{};  ///< none: its `deadline` is given
  Instant left{};               ///< when it was sent; `asked` may be long before
  Instant deadline{};           ///< unanswered until then: the connection counts as dead
  std::uint64_t number = 0;     ///< the connection's own

  // Each kind is made of its operation here and nowhere else, so that what follows may trust it.

  /// @param lease of what it is about, or `no_lease`
  [[nodiscard]] static Call made(Kind kind, std::shared_ptr<Operation> of, Instant now = {},
                                 std::chrono::nanoseconds lease = no_lease) {
    Call call;
    call.kind = kind;
    call.why = purpose_of(kind);
    call.operation = std::move(of);
    call.asked = now;
    call.patience = remote::Patience::for_lease(lease);
    return call;
  }
  /// A call about an attempt, or one that ends a hold.
  [[nodiscard]] static Call of(remote::Purpose why, std::shared_ptr<Operation> operation,
                               Instant now = {}) {
    using remote::Purpose;
    const bool frees = remote::is_release(why);
    const Kind kind = frees ? Kind::release : why == Purpose::take ? Kind::acquire : Kind::cancel;
    const core::Nanos lease =
        frees ? no_lease : static_cast<const Acquisition&>(*operation).request().lease;
    Call call = made(kind, std::move(operation), now, lease);
    call.why = why;
    return call;
  }
  [[nodiscard]] static Call renew(std::shared_ptr<Renewal> of, Instant now = {}) {
    const core::Nanos shortest = remote::shortest_lease(*of);
    return made(Kind::renew, std::move(of), now, shortest);
  }
  /// @param which record it forgets; null = it looks
  [[nodiscard]] static Call recall(std::shared_ptr<Operation> of,
                                   std::shared_ptr<const Answer> which, Instant now) {
    Call call = made(Kind::recall, std::move(of), now);
    call.found = std::move(which);
    return call;
  }
  /// @param of known to nobody else
  [[nodiscard]] static Call slots(std::shared_ptr<Operation> of, Server& at) {
    Call call = made(Kind::slots, std::move(of));
    call.route.at = &at;
    return call;
  }

  [[nodiscard]] const Listing& listing() const { return static_cast<Listing&>(*operation); }
  [[nodiscard]] const QueueLook& queue_look() const { return static_cast<QueueLook&>(*operation); }
  [[nodiscard]] const Places& places() const { return static_cast<Places&>(*operation); }

  /// @return what it is about: of several holds the first; empty = no name.
  [[nodiscard]] std::string_view name() const noexcept {
    switch (kind) {
      case Kind::acquire:
      case Kind::cancel: return acquisition().request().name;
      case Kind::renew: return renewal().items().front().hold.name;
      case Kind::release:
      case Kind::force: return releasing().hold().name;
      case Kind::inspect: return inspection().name();
      case Kind::check: return remote::probed_name;
      case Kind::recall: return recollection().key();
      case Kind::queue: return queue_look().name();
      case Kind::ask:
      case Kind::list:
      case Kind::slots: break;
    }
    return {};
  }
  /// @return whether it is about a lock, a semaphore or a key; `exclusive` for what is about
  /// several names, or none.
  [[nodiscard]] Mode mode() const noexcept {
    switch (kind) {
      case Kind::acquire:
      case Kind::cancel: return acquisition().request().mode;
      case Kind::release:
      case Kind::force: return releasing().hold().mode;
      case Kind::queue: return queue_look().mode();
      case Kind::recall: return Mode::once;
      case Kind::renew:
      case Kind::inspect:
      case Kind::check:
      case Kind::list:
      case Kind::ask:
      case Kind::slots: break;
    }
    return Mode::exclusive;
  }
  /// @return true if it goes to one server, whichever the name goes to.
  [[nodiscard]] bool is_bound() const noexcept { return route.asks_first; }
  // For remote::Exchange. A server forgets the inbox of a client with its connection.
  static constexpr bool asks_on_each_connection = true;
  /// @return the attempt that the same request asks for; null = none.
  [[nodiscard]] std::shared_ptr<Acquisition> successor() const {
    return kind == Kind::release ? releasing().successor() : nullptr;
  }
  /// @return whether it is about an attempt that is not a hold yet.
  [[nodiscard]] bool is_about_an_attempt() const noexcept {
    return kind == Kind::acquire || kind == Kind::cancel;
  }

 private:
  [[nodiscard]] static remote::Purpose purpose_of(Kind kind) noexcept {
    using enum remote::Purpose;
    switch (kind) {
      case Kind::acquire: return take;
      case Kind::cancel: return remote::Purpose::cancel;
      case Kind::release: return remote::Purpose::release;
      case Kind::renew: return remote::Purpose::renew;
      case Kind::ask: return hint;
      case Kind::slots: return remote::Purpose::route;
      case Kind::inspect:
      case Kind::check:
      case Kind::force:
      case Kind::recall:
      case Kind::list:
      case Kind::queue: break;
    }
    return question;
  }
};

/// It is answered: drops what it refers to.
inline void let_go(Call& call) noexcept {
  call.operation.reset();
  call.found.reset();
}

}  // namespace mortise::redis
