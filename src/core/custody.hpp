// SPDX-License-Identifier: MIT
// Who answers for an attempt: it may be granted at any moment, also when nobody waits for it any
// more, and a grant that nobody answers for keeps the name from everybody for a whole lease.
#pragma once

#include <cstdint>

namespace mortise::core {

/// One at a time, at every moment of an attempt's life.
enum class Custody : std::uint8_t {
  caller,    ///< a caller waits for it: whoever made it, or the successor that it passed it to
  answered,  ///< the answer came; that caller makes a hold of a grant, or gives it back
  client,    ///< nobody waits: the client has it taken back, and asks until that is answered
  giver,     ///< the answer came then: whoever brought it, or tries again, gives a grant back
  debtor,    ///< that failed, for want of memory: the client has it tried again
  nobody,    ///< it is over
};

/// What happens to an attempt.
enum class Fate : std::uint8_t {
  completed,       ///< the answer comes
  abandoned,       ///< the caller stops waiting
  given_back,      ///< by the giver, or there was nothing to be given back
  not_given_back,  ///< the giver could not
  tried_again,     ///< by the client
};

/// What falls to the thread that brings an event about.
enum class Duty : std::uint8_t {
  none,
  take_answer,  ///< it came first: make a hold of a grant, or give it back
  give_back,    ///< a grant
};

struct CustodyStep {
  Custody next = Custody::nobody;
  Duty duty = Duty::none;
};

/// @return who answers for it from then on.
[[nodiscard]] constexpr CustodyStep after(Custody now, Fate fate) noexcept {
  switch (fate) {
    case Fate::completed:
      if (now == Custody::caller) return {Custody::answered};
      if (now == Custody::client) return {Custody::giver, Duty::give_back};
      break;
    case Fate::abandoned:
      if (now == Custody::caller) return {Custody::client};
      if (now == Custody::answered) return {now, Duty::take_answer};
      break;
    case Fate::given_back:
      if (now == Custody::giver) return {Custody::nobody};
      break;
    case Fate::not_given_back:
      if (now == Custody::giver) return {Custody::debtor};
      break;
    case Fate::tried_again:
      if (now == Custody::debtor) return {Custody::giver, Duty::give_back};
      break;
  }
  return {now};
}

}  // namespace mortise::core
