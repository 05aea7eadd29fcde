// SPDX-License-Identifier: MIT
#include "simulation/redis/lua_memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace simulation::redis {

void* LuaMemory::allocate(void* self, void* old, std::size_t old_size, std::size_t size) noexcept {
  auto& memory = *static_cast<LuaMemory*>(self);
  const bool was_small = old != nullptr && old_size <= largest;
  if (old != nullptr && !was_small && size > largest) return std::realloc(old, size);
  const std::size_t kind = kind_of(size);
  if (was_small && size != 0 && kind_of(old_size) == kind) return old;
  void* block = nullptr;
  if (size > largest) {
    block = std::malloc(size);
  } else if (size != 0) {
    try {
      block = memory.take(kind);
    } catch (const std::bad_alloc&) {
      block = nullptr;
    }
  }
  if (size != 0 && block == nullptr) return nullptr;  // Lua's way of hearing that there is none
  if (old == nullptr) return block;
  if (size != 0) std::memcpy(block, old, std::min(old_size, size));
  if (was_small) {
    memory.give(old, kind_of(old_size));
  } else {
    std::free(old);
  }
  return block;
}

void* LuaMemory::cut(std::size_t kind) {
  const std::size_t size = kind * grain;
  if (left_ < size) {
    chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(chunk));
    next_ = chunks_.back().get();
    left_ = chunk;
  }
  std::byte* const block = next_;
  next_ += size;
  left_ -= size;
  return block;
}

}  // namespace simulation::redis
