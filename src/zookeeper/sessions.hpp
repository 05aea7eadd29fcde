// SPDX-License-Identifier: MIT
// The sessions of a client. It opens another one if there is no room for more paths in the others.
#pragma once

#include "remote/stream/tls.hpp"
#include "zookeeper/parts.hpp"
#include "zookeeper/session.hpp"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace mortise::zookeeper {

class Sessions {
 public:
  /// @param owner outlives it
  Sessions(Parts& parts, Session::Owner& owner)
      : parts_(parts),
        owner_(owner),
        tls_(parts.settings.tls ? std::make_unique<remote::Tls>(*parts.settings.tls, "zookeeper")
                                : nullptr) {}

  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
  /// @return one that connects, or will.
  [[nodiscard]] Session& with_room(const Paths& paths) {
    for (const auto& session : all_) {
      if (!session->has_room(paths)) continue;
      session->want(parts_.now());  // there may have been no memory for it at the first call
      return *session;
    }
    all_.reserve(all_.size() + 1);
    auto made = std::make_unique<Session>(parts_.settings, tls_.get(), parts_.clock, owner_);
    parts_.host->attach(*made);
    all_.push_back(std::move(made));  // there is room
    all_.back()->want(parts_.now());
    return *all_.back();
  }
  /// @return the first one; there must be one.
  [[nodiscard]] Session& front() const noexcept { return *all_.front(); }
  [[nodiscard]] auto begin() const noexcept { return all_.begin(); }
  [[nodiscard]] auto end() const noexcept { return all_.end(); }
  /// @return how many holds there are.
  [[nodiscard]] std::size_t holds() const noexcept {
    std::size_t holds = 0;
    for (const auto& session : all_) holds += session->load.holding;
    return holds;
  }
  /// The client closes.
  [[nodiscard]] std::vector<std::unique_ptr<Session>> take() noexcept {
    return std::exchange(all_, {});
  }

 private:
  Parts& parts_;
  Session::Owner& owner_;
  const std::unique_ptr<remote::Tls> tls_;  // null: not encrypted
  std::vector<std::unique_ptr<Session>> all_;
};

}  // namespace mortise::zookeeper
