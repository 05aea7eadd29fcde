// SPDX-License-Identifier: MIT
// An object that is never destroyed: in a forked child its mutexes may be locked, and its threads
// do not exist.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace mortise::base {

/// Keeps the object until the process ends. It makes no allocation, which could fail: the object
/// has one reference more than is ever given up.
template <class Object>
void leak(std::shared_ptr<Object> object) noexcept {
  alignas(std::shared_ptr<Object>) std::array<std::byte, sizeof(object)> kept{};
  ::new (static_cast<void*>(kept.data())) std::shared_ptr<Object>(std::move(object));
}

}  // namespace mortise::base
