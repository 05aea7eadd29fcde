// SPDX-License-Identifier: MIT
// What is left to be done when the slot's mutex is free: of a loss, who is told, and whether the
// server is; of every end, what must not be destroyed under that mutex.
#pragma once

#include <mortise/error.hpp>

#include "core/name_state.hpp"
#include "runtime/hold/renewal_trouble.hpp"

#include <memory>
#include <optional>

namespace mortise::runtime {

class Slot;

/// Filled in under the slot's mutex, carried out when that is free. Made before the mutex is taken,
/// so that it is carried out after it was given back, also where an exception ends the call in
/// between: a loss that nobody tells, or a release that nobody sends, would block the name for
/// ever.
class Aftermath {
 public:
  /// Why a hold was lost, in words that are made when the loss is told: a loss needs no memory.
  struct Reason {
    Errc code = Errc::lost;
    const char* words = "";            ///< behind the name
    const Failure* backend = nullptr;  ///< instead, in the backend's words; outlives the aftermath
  };

  explicit Aftermath(Slot& slot) noexcept : slot_(slot) {}
  Aftermath(const Aftermath&) = delete;
  Aftermath& operator=(const Aftermath&) = delete;
  ~Aftermath() { carry_out(); }

  // To be given up. The first member, so that it goes last: it may be the last reference to what
  // all this refers to.
  std::shared_ptr<Slot> unpinned;
  std::optional<core::NameState::Loss> loss;
  std::unique_ptr<RenewalTrouble> trouble;  // that has cost the lease
  Reason why;
  bool tell_server = false;

 private:
  void carry_out() noexcept;
  void request_stop(std::unique_ptr<core::LossNotice> notice) noexcept;
  void tell_lost();
  void tell_lost(const core::Hold& ended);
  void release_lost();

  Slot& slot_;
};

}  // namespace mortise::runtime
