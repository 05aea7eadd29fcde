// SPDX-License-Identifier: MIT
// The answers of a store that cannot do what a test asks for. No test calls them, since each names
// its needs; if one does, it must not pass by accident.
#include "support/contract_backend.hpp"

#include "model/build.hpp"

#include <stdexcept>

namespace mortise::contract {
namespace {

[[noreturn]] void lacking(const char* hook) {
  throw std::logic_error(std::string("a test calls a hook without a need for it: this store ") +
                         hook);
}

}  // namespace

Store::~Store() = default;
void Store::set_reachable(bool /*reachable*/) { lacking("cannot be made unreachable"); }
void Store::restart() { lacking("cannot be restarted"); }
void Store::take_away(const std::string& /*name*/) { lacking("has no hold taken away"); }
void Store::take_key_away(const std::string& /*key*/) { lacking("has no key taken away"); }
void Store::misbehave(const Misbehaviour& /*how*/) { lacking("loses and delays nothing"); }
std::size_t Store::waiters() const { lacking("does not count its waiters"); }
std::uint64_t Store::pushes() const { lacking("does not count its pushes"); }

bool built_as(Build build) {
  switch (build) {
    case Build::no_sanitizer: return !model::under_sanitizer;
    case Build::no_address_sanitizer: return !model::under_address_sanitizer;
  }
  return false;
}

bool BackendUnderTest::has(const Need& need) const {
  if (const Hook* const hook = std::get_if<Hook>(&need)) return hooks.contains(*hook);
  if (const Build* const build = std::get_if<Build>(&need)) return built_as(*build);
  switch (const Quality quality = std::get<Quality>(need)) {
    case Quality::no_leases: return !qualities.contains(Quality::leases);
    case Quality::loss:
      return qualities.contains(Quality::leases) || hooks.contains(Hook::take_away);
    case Quality::no_chance: return !qualities.contains(Quality::chance);
    case Quality::no_once: return !qualities.contains(Quality::once);
    case Quality::no_min_hold: return !qualities.contains(Quality::min_hold);
    case Quality::no_permits: return !qualities.contains(Quality::permits);
    case Quality::min_hold:
    case Quality::leases:
    case Quality::once:
    case Quality::shared:
    case Quality::permits:
    case Quality::fair:
    case Quality::chance:
    case Quality::holders:
    case Quality::lists:
    case Quality::lists_once:
    case Quality::lists_long_names:
    case Quality::queues:
    case Quality::queues_of_many:
    case Quality::queues_of_both:
    case Quality::waiters:
    case Quality::waiter_labels:
    case Quality::forces:
    case Quality::one_wake: return qualities.contains(quality);
  }
  return false;
}

std::set<Hook> all_hooks_but(const std::set<Hook>& those) {
  std::set<Hook> left{Hook::processes,   Hook::hand_clock,    Hook::unreachable,  Hook::restart,
                      Hook::take_away,   Hook::lost_messages, Hook::lost_pushes,  Hook::delays,
                      Hook::late_copies, Hook::counts,        Hook::take_key_away};
  for (const Hook each : those) left.erase(each);
  return left;
}

}  // namespace mortise::contract
