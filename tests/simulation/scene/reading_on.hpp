// SPDX-License-Identifier: MIT
// An owner goes on as a reader: it takes the name shared while it owns it, lets go of the other
// hold first, and reads on for a while.
#pragma once

#include <mortise/client.hpp>

#include "simulation/scene/judge.hpp"
#include "simulation/world/random.hpp"

#include <cstddef>
#include <functional>
#include <string>

namespace simulation {

class ReadingOn {
 public:
  using Look = std::function<void(mortise::Lock&)>;

  /// @param beside the owner's hold
  /// @param look told of what it believes, now and then
  ReadingOn(Room& room, Judge& judge, const Process& process, std::size_t name,
            Judge::HoldNumber beside, mortise::Lock reader, Look look);
  /// It reads on for so long at most, once it does not own the name any more.
  void keep_for(Nanos time) noexcept { time_ = time; }
  ~ReadingOn();
  ReadingOn(const ReadingOn&) = delete;
  ReadingOn& operator=(const ReadingOn&) = delete;

 private:
  Room& room_;
  Judge& judge_;
  const Process& process_;
  const std::size_t name_;
  mortise::Lock reader_;
  const mortise::Owner owner_ = mortise::Owner::this_thread();
  const Look look_;
  Judge::HoldNumber number_ = 0;  // 0: it does not read
  Nanos time_{0};
};

}  // namespace simulation
