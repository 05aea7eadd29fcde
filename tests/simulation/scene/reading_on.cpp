// SPDX-License-Identifier: MIT
#include "simulation/scene/reading_on.hpp"

#include <system_error>
#include <thread>
#include <utility>

namespace simulation {

ReadingOn::ReadingOn(Room& room, Judge& judge, const Process& process, std::size_t name,
                     Judge::HoldNumber beside, mortise::Lock reader, Look look)
    : room_(room),
      judge_(judge),
      process_(process),
      name_(name),
      reader_(std::move(reader)),
      look_(std::move(look)) {
  const Nanos asked = room_.world.now();
  std::error_code error;
  if (!reader_.acquire({.wait = Nanos(0)}, error)) return;
  const mortise::Token token = reader_.token(owner_);
  number_ = judge_.granted(name_, {.process = &process_,
                                   .left =
                                       [this, token] {
                                         return reader_.token(owner_) == token
                                                    ? Nanos(reader_.valid_for(owner_))
                                                    : Nanos(0);
                                       },
                                   .token = token,
                                   .unseen = true,
                                   .shared = true,
                                   .beside = beside,
                                   .asked_at = asked});
  room_.world.note(process_.name(), "reads on, token " + std::to_string(token.value()));
  look_(reader_);
}

// What a killed process had is never destroyed.
ReadingOn::~ReadingOn() {
  if (number_ == 0) return;
  if (time_ > Nanos(0)) {
    std::this_thread::sleep_for(time_);
    judge_.still_holds(name_, number_);
    look_(reader_);
  }
  judge_.releasing(name_, number_);
  std::error_code error;
  static_cast<void>(reader_.release(error, owner_));
}

}  // namespace simulation
