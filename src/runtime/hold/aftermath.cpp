// SPDX-License-Identifier: MIT
// The callbacks of a loss first, then the observer, then the server, and last whoever may ask it.
#include "runtime/hold/aftermath.hpp"

#include "runtime/client/client_state.hpp"
#include "runtime/hold/hold_news.hpp"
#include "runtime/hold/slot.hpp"

#include <exception>
#include <utility>

namespace mortise::runtime {

void Aftermath::carry_out() noexcept {
  if (!loss) return;
  request_stop(std::move(loss->ended.notice));
  for (core::Sharer* const sharer : loss->sharers.list()) request_stop(std::move(sharer->notice));
  try {
    tell_lost();
  } catch (const std::exception&) {
    // Out of memory for the observer's news.
  }
  if (!tell_server) return;
  try {
    release_lost();
  } catch (const std::exception&) {
    // Out of memory for the request: the hold ends with its lease.
  }
  const Slot::Lock lock(slot_.mutex);
  slot_.release_sent_locked();
}

void Aftermath::request_stop(std::unique_ptr<core::LossNotice> notice) noexcept {
  ClientState& client = slot_.client();
  if (!client.announcements().lost(std::move(notice))) client.store().background().serve_later();
}

void Aftermath::release_lost() {
  ClientState& client = slot_.client();
  client.store().send(std::make_shared<Release>(slot_.hold_id(loss->ended)),
                      client.now() + loss->ended.lease.wanted());
}

void Aftermath::tell_lost() {
  if (slot_.client().observer() == nullptr) return;
  const auto& sharers = loss->sharers.list();
  if (sharers.empty()) return tell_lost(loss->ended);
  for (const core::Sharer* const sharer : sharers) tell_lost(core::part_of(loss->ended, *sharer));
}

void Aftermath::tell_lost(const core::Hold& ended) {
  Failure words =
      why.backend != nullptr ? *why.backend : Failure(why.code, slot_.name() + why.words);
  if (trouble) words.text += "; the last renewal failed: " + trouble->why.text;
  HoldNews(slot_, ended)
      .post(slot_.client().announcements(),
            [words = std::move(words)](Observer& observer, const Event& event) {
              observer.lost(event, words);
            });
}

}  // namespace mortise::runtime
