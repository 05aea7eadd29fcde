// SPDX-License-Identifier: MIT
// The protocol of examples/own_server_store, for tests that change a part of it.
#pragma once

#include <mortise/remote/protocol.hpp>

#include "lines.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::fault {

/// The protocol of the example, for those that change one member.
class LikeLines : public remote::Protocol {
 public:
  [[nodiscard]] StoreCapabilities capabilities() const override { return lines_.capabilities(); }
  [[nodiscard]] std::string kind() const override { return lines_.kind(); }
  void greet(std::string& bytes) const override { lines_.greet(bytes); }
  void take(std::string& bytes, const Acquisition::Request& request,
            remote::ServerTime void_after) const override {
    lines_.take(bytes, request, void_after);
  }
  void cancel(std::string& bytes, const Acquisition::Request& request) const override {
    lines_.cancel(bytes, request);
  }
  void renew(std::string& bytes, const std::vector<Renewal::Item>& holds) const override {
    lines_.renew(bytes, holds);
  }
  void release(std::string& bytes, const HoldId& hold) const override {
    lines_.release(bytes, hold);
  }
  void inspect(std::string& bytes, const std::string& name) const override {
    lines_.inspect(bytes, name);
  }
  [[nodiscard]] std::optional<remote::Message> read(std::string_view& bytes) const override {
    return lines_.read(bytes);
  }

 private:
  own::Lines lines_{};
};

}  // namespace mortise::fault
