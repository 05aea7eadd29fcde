// SPDX-License-Identifier: MIT
// The store of the lock server: its protocol, of which the kit makes a backend.
//
// Names and labels are written as `Lines::hex()` makes them. Each time is in microseconds. A holder
// is written as its number, the rest of its lease, the number of waiters and its label.
//
//   request                                         answers
//   hello                                           hello NOW SERVER
//   take NAME ATTEMPT LEASE VOID-AFTER WAITS LABEL  granted NOW NUMBER LEFT
//                                                   queued NOW HOLDER
//                                                   busy NOW HOLDER
//                                                   expired NOW
//   cancel NAME ATTEMPT                             granted NOW NUMBER LEFT
//                                                   busy NOW [HOLDER]
//   renew [NAME ATTEMPT NUMBER LEASE]...            renewed NOW [1 or 0]...
//   release NAME ATTEMPT NUMBER                     released NOW
//                                                   before NOW
//                                                   absent NOW
//   holder NAME                                     holder NOW [HOLDER]
//   anything else                                   error REASON
//   (nothing: it is the turn of a waiter)           handed NOW NUMBER LEFT NAME ATTEMPT
#pragma once

#include <mortise/remote/backend.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace own {

// [protocol]
class Lines final : public mortise::remote::Protocol {
 public:
  [[nodiscard]] mortise::StoreCapabilities capabilities() const override;
  [[nodiscard]] std::string kind() const override { return "lines"; }
  /// @return a text of any bytes as a word: 'x' and the digits of the bytes.
  [[nodiscard]] static std::string hex(std::string_view bytes);

  void greet(std::string& bytes) const override;
  void take(std::string& bytes, const mortise::Acquisition::Request& request,
            mortise::remote::ServerTime void_after) const override;
  void cancel(std::string& bytes, const mortise::Acquisition::Request& request) const override;
  void renew(std::string& bytes, const std::vector<mortise::Renewal::Item>& holds) const override;
  void release(std::string& bytes, const mortise::HoldId& hold) const override;
  void inspect(std::string& bytes, const std::string& name) const override;

  [[nodiscard]] std::optional<mortise::remote::Message> read(
      std::string_view& bytes) const override;
};
// [/protocol]

}  // namespace own
