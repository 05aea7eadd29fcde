// SPDX-License-Identifier: MIT
// The answer of an entry to a request.
#pragma once

#include <mortise/error.hpp>
#include <mortise/holder.hpp>
#include <mortise/operation.hpp>
#include <mortise/record.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace mortise::file {

struct Decision {
  enum class Kind : std::uint8_t {
    ignored,  ///< no answer: the attempt is not, or no longer, waiting here
    retired,  ///< the entry is out of use: ask a new one
    granted,
    flushing,  ///< granted once `settle()` has made the disk keep it
    held,      ///< by another attempt
    recorded,  ///< what is remembered of the key needs no grant, or allows none
    again,     ///< what was remembered of the key is in order now: ask once more
    replaced,  ///< the file is not the one of its name any more; no entry answers this
    failed,
  };
  Kind kind = Kind::ignored;
  Grant grant{};
  std::optional<Holder> holder{};
  Failure failure{};
  std::shared_ptr<const mortise::Record> record{};
  /// Held, but by no client that runs the key, or not for long: worth another try within a moment.
  bool passing = false;
};

inline Decision failed(Failure why) {
  return {.kind = Decision::Kind::failed, .failure = std::move(why)};
}

inline Decision client_is_closed() { return failed({Errc::closed, "the client is closed"}); }

}  // namespace mortise::file
