// SPDX-License-Identifier: MIT
#include "simulation/scene/calls.hpp"

#include <algorithm>

namespace simulation {

Calls::Call::Call(Calls& calls, std::size_t name, const Process& process)
    : calls_(calls),
      name_(name),
      process_(process),
      began_alone_(calls.names_[name].callers.empty() &&
                   calls.names_[name].clear_from <= calls.world_.now()),
      number_(++calls.names_[name].begun),
      rest_(calls.doubt_) {
  calls_.names_[name_].callers.push_back(&process_);
}

Calls::Call::~Call() {
  Name& all = calls_.names_[name_];
  const auto mine = std::find(all.callers.begin(), all.callers.end(), &process_);
  if (mine != all.callers.end()) all.callers.erase(mine);
  all.clear_from = std::max(all.clear_from, calls_.world_.now() + rest_);
}

bool Calls::Call::alone() const { return began_alone_ && calls_.names_[name_].begun == number_; }

void Calls::died(const Process& process, Nanos gone_by) {
  for (auto& [number, all] : names_) {
    if (std::erase(all.callers, &process) > 0) all.clear_from = std::max(all.clear_from, gone_by);
  }
}

void Calls::hears_the_dead(std::size_t name, Nanos gone_by) {
  Name& all = names_[name];
  all.clear_from = std::max(all.clear_from, gone_by);
}

void Calls::over_by(Nanos time) {
  for (auto& [number, all] : names_) all.clear_from = std::min(all.clear_from, time);
}

}  // namespace simulation
