// SPDX-License-Identifier: MIT
// For authors of stores: the protocol of a server. It turns requests into bytes, and bytes into
// messages.
#pragma once

#include <mortise/capabilities.hpp>
#include <mortise/export.hpp>
#include <mortise/operation.hpp>
#include <mortise/remote/message.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::remote {

/// The protocol of a server. `backend()` makes a `Backend` of it.
///
/// The client connects, reconnects, repeats requests, and takes back what lost requests took. A
/// protocol decides none of that, has no state, and reads no clock.
///
/// Every request may arrive at the server twice, and late. These rules keep locks safe:
/// - An attempt has an id (`Acquisition::Request::attempt`). If the server receives a second
///   `take()` of an attempt, it answers the hold or the place in the queue that the attempt has.
/// - If a `take()` arrives after its void moment, the server does nothing and answers `expired`.
/// - `release()` and `renew()` name one hold by attempt and number, and change no other hold.
/// - The server removes an attempt from its queue if the connection that sent the last `take()` of
///   the attempt has ended. The client asks again on its next connection.
/// - The server ends a hold when its lease ends by the server's clock, which never steps.
/// - The numbers of the grants of a name grow, even over a restart of the server.
/// - A server that has lost its holds in a restart grants nothing until the longest lease is over.
///   Otherwise two clients can hold a name until the next renewal of the first one.
/// - The lease of a push is at most two seconds, until the first `renew()` of the hold. A waiter
///   repeats its `take()` about once per second. So a server can remove waiters that are silent.
/// @thread_safety Every member may be called concurrently. `read()` must not block or call Mortise,
/// because the answers of all callers wait for it.
class MORTISE_API Protocol {
 public:
  virtual ~Protocol();

  /// @return the properties of the server. The client itself sets the properties of modes that this
  /// interface does not have (`shared_mode`, `permits`) to `no`.
  [[nodiscard]] virtual StoreCapabilities capabilities() const = 0;
  /// @return one word for the kind of store, for messages and for `Backend::identity()`.
  [[nodiscard]] virtual std::string kind() const = 0;

  // Requests. Each member appends the bytes of one request. If a member throws `Error`, that
  // request fails with it, and nothing is sent. Any other exception counts as missing memory.

  /// The first request of each connection. Its answer is `greeting`.
  virtual void greet(std::string& bytes) const = 0;
  /// Takes the name, or joins its queue if `request.wait` is true. If an attempt in the queue gets
  /// the name later, the server sends `handed_over` on the connection of the last `take()`.
  /// @param request the attempt, the name, the lease and the label
  /// @param void_after the server must ignore the request after this moment of its clock
  virtual void take(std::string& bytes, const Acquisition::Request& request,
                    ServerTime void_after) const = 0;
  /// Removes the attempt from the queue of the name. If it holds the name, it goes on holding it,
  /// and the answer is `granted`; otherwise `busy`.
  virtual void cancel(std::string& bytes, const Acquisition::Request& request) const = 0;
  /// Sets the end of each hold to `Renewal::Item::lease` after now, even if the hold then ends
  /// earlier than before (`min_hold`). The answer of a hold that the server does not have is
  /// `lost`.
  virtual void renew(std::string& bytes, const std::vector<Renewal::Item>& holds) const = 0;
  /// Ends exactly this hold, and hands the name to the first attempt in the queue.
  virtual void release(std::string& bytes, const HoldId& hold) const = 0;
  /// Asks for the holder of a name. The client also uses it to check that the server answers.
  virtual void inspect(std::string& bytes, const std::string& name) const = 0;

  // Messages.

  /// Reads the first message.
  /// @param bytes what has arrived and was not read. Removes the message from the front, or leaves
  /// the bytes as they are if the message is not complete
  /// @return nothing if the message is not complete
  /// @throws Error (`protocol`) if the bytes are not a message. After any exception the client
  /// drops the connection
  [[nodiscard]] virtual std::optional<Message> read(std::string_view& bytes) const = 0;

  /// The longest message in bytes. If more bytes are no complete message, the client drops the
  /// connection.
  static constexpr std::size_t longest_message = std::size_t{1} << 20U;
};

}  // namespace mortise::remote
