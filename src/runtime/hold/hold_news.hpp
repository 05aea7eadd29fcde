// SPDX-License-Identifier: MIT
// An event of a hold for the observer: copied under the slot's mutex, reported on another thread.
#pragma once

#include <mortise/observer.hpp>

#include "core/hold.hpp"
#include "runtime/client/client_state.hpp"
#include "runtime/hold/slot.hpp"

#include <memory>
#include <string>
#include <utility>

namespace mortise::runtime {

/// @return the event of a hold, which refers to the strings of both.
[[nodiscard]] inline Event event_of(const Slot& slot, const core::Hold& hold) noexcept {
  return {.name = slot.name(),
          .label = hold.terms->label,
          .token = hold.token(),
          .took = slot.client().now() - hold.owned_since,
          .mode = slot.mode_of(*hold.terms)};
}

/// An event with strings of its own.
class HoldNews {
 public:
  HoldNews(const Slot& slot, const core::Hold& hold)
      : event_(event_of(slot, hold)), name_(slot.name()), label_(hold.terms->label) {}
  /// Has the observer called with it, if there is one.
  /// @param report is handed the observer and the event
  template <class Report>
  void post(Announcements& to, Report report) && {
    if (!to.observer()) return;
    to.tell_observer([observer = to.observer(), news = std::move(*this),
                      report = std::move(report)] { report(*observer, news.event()); });
  }

 private:
  [[nodiscard]] Event event() const noexcept {
    Event event = event_;
    event.name = name_;
    event.label = label_;
    return event;
  }

  Event event_;
  std::string name_;
  std::string label_;
};

}  // namespace mortise::runtime
