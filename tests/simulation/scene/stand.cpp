// SPDX-License-Identifier: MIT
#include "simulation/scene/stand.hpp"

#include "simulation/scene/stands.hpp"

#include <stdexcept>

namespace simulation {

std::size_t specials_of(Kind kind) {
  switch (kind) {
    case Kind::memory: return memory_specials;
    default: return 0;
  }
}

std::unique_ptr<Stand> make_stand(const Plan& plan, Room& room) {
  switch (plan.kind) {
    case Kind::memory: return make_memory_stand(plan, room);
    default: throw std::invalid_argument("no such kind of store: " + name_of(plan.kind));
  }
}

}  // namespace simulation
