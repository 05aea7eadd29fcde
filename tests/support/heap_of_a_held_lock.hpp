// SPDX-License-Identifier: MIT
// How many bytes of this process' heap a held lock costs: what is asked for, in the sizes in which
// malloc gives it.
#pragma once

#include <mortise/mortise.hpp>

#include <malloc.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace mortise::test {

/// What bench/README.md promises of it.
inline constexpr std::size_t most_heap_of_a_held_lock = 1024;

/// @return the bytes in use, of all threads; 0 = a sanitizer has a heap of its own.
[[nodiscard]] inline std::size_t heap_in_use() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

/// @return the mean of a thousand, which the client holds meanwhile.
[[nodiscard]] inline std::size_t heap_of_a_held_lock(Client& client) {
  constexpr std::size_t count = 1'000;
  client.make_lock("first").lock();  // whatever is there once for all
  const std::size_t before = heap_in_use();
  std::vector<Lock> locks;
  locks.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    locks.push_back(client.make_lock("orders/" + std::to_string(i)));
    if (!locks.back().try_lock()) throw std::runtime_error(locks.back().name() + " is held");
  }
  return (heap_in_use() - before) / count;
}

}  // namespace mortise::test
