// SPDX-License-Identifier: MIT
// The answers of a store that cannot do what a test asks for. No test calls them, since each asks
// `has()` first; if one does, it must not pass by accident.
#include "support/contract_backend.hpp"

#include <stdexcept>

namespace mortise::contract {
namespace {

[[noreturn]] void lacking(Hook hook) {
  throw std::logic_error("a contract test calls a hook without asking for it first: this store " +
                         std::string(words_for_lack_of(hook)));
}

}  // namespace

std::string_view words_for_lack_of(Hook hook) {
  switch (hook) {
    case Hook::processes: return "cannot be reached from another process";
    case Hook::hand_clock: return "does not follow a clock that a test moves";
    case Hook::unreachable: return "cannot be made unreachable";
    case Hook::restart: return "cannot be restarted";
    case Hook::take_away: return "does not let a test take a hold away";
    case Hook::lost_messages: return "loses no requests and no replies";
    case Hook::lost_pushes: return "loses no pushes";
    case Hook::delays: return "delays no messages";
    case Hook::late_copies: return "is reached by streams, which repeat nothing";
    case Hook::counts: return "does not count its waiters and pushes";
  }
  return "lacks an unknown hook";
}

Store::~Store() = default;
void Store::set_reachable(bool /*reachable*/) { lacking(Hook::unreachable); }
void Store::restart() { lacking(Hook::restart); }
void Store::take_away(const std::string& /*name*/) { lacking(Hook::take_away); }
void Store::misbehave(const Misbehaviour& /*how*/) { lacking(Hook::delays); }
std::size_t Store::waiters() const { lacking(Hook::counts); }
std::uint64_t Store::pushes() const { lacking(Hook::counts); }

}  // namespace mortise::contract
