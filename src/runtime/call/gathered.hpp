// SPDX-License-Identifier: MIT
// What one thread asks for several names, kept back where the backend can, to leave together.
#pragma once

#include "runtime/hold/slot.hpp"

namespace mortise::runtime {

/// From its making to its end.
/// @tparam Slots a range, of which `slot_of()` makes references to slots; of one it keeps nothing
/// back
template <class Slots, class SlotOf>
class Gathered {
 public:
  Gathered(const Slots& slots, SlotOf slot_of) : slots_(slots), slot_of_(slot_of) {
    if (slots_.size() > 1)
      each_client([](ClientState& client) { client.store().engine().keep_requests_back(); });
  }
  Gathered(const Gathered&) = delete;
  Gathered& operator=(const Gathered&) = delete;
  ~Gathered() {
    if (slots_.size() > 1)
      each_client([](ClientState& client) { client.store().engine().send_kept_back(); });
  }

 private:
  // Most calls are for the names of one client; to visit one twice does no harm.
  template <class Visit>
  void each_client(Visit visit) noexcept {
    const ClientState* last = nullptr;
    for (const auto& each : slots_) {
      ClientState& client = slot_of_(each).client();
      if (&client != last && client.alive()) visit(client);
      last = &client;
    }
  }

  const Slots& slots_;
  SlotOf slot_of_;
};

}  // namespace mortise::runtime
