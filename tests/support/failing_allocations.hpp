// SPDX-License-Identifier: MIT
// Allocations that fail when a test says so: replaces the operators of a whole program, so one
// source of a program includes it. clang's sanitizers have operators of their own, linked behind
// these (tests/CMakeLists.txt).
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace mortise::test {

/// Allocations of this thread until one fails; 0 = none will.
inline thread_local long until_failure = 0;
/// How many behind that one fail as well.
inline thread_local long also_failing = 0;

inline void* allocate(std::size_t size) {
  if (until_failure > 0 && --until_failure == 0) {
    if (also_failing > 0) {
      --also_failing;
      until_failure = 1;
    }
    throw std::bad_alloc();
  }
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace mortise::test

void* operator new(std::size_t size) { return mortise::test::allocate(size); }
void* operator new[](std::size_t size) { return mortise::test::allocate(size); }
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  try {
    return mortise::test::allocate(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
// Not inline: GCC would see free() of what comes from operator new, and warn.
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}
