// SPDX-License-Identifier: MIT
// A fiber begins with setcontext(), and is left and entered again with _longjmp(), which unlike
// swapcontext() makes no system call for the signal mask: half of a run's time went into those.
#undef _FORTIFY_SOURCE  // whose longjmp() allows only ways out of the same stack
#include "simulation/world/fiber.hpp"

#include <cxxabi.h>
#include <link.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

namespace simulation {
namespace {

constexpr std::size_t stack_size = std::size_t{256} << 10U;

/// Where the program's own thread_local variables are, and what they begin with. Those of shared
/// libraries stay: nothing is called there that gives way in the middle.
struct Locals {
  std::byte* here = nullptr;
  std::size_t size = 0;
  const std::byte* image = nullptr;
  std::size_t image_size = 0;
};

int find_locals(dl_phdr_info* info, std::size_t /*size*/, void* into) {
  auto& locals = *static_cast<Locals*>(into);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type != PT_TLS) continue;
    locals.here = static_cast<std::byte*>(info->dlpi_tls_data);
    locals.size = header.p_memsz;
    locals.image = reinterpret_cast<const std::byte*>(info->dlpi_addr + header.p_vaddr);
    locals.image_size = header.p_filesz;
  }
  return 1;  // the program comes first, and is all that we want
}

const Locals& locals() {
  static const Locals found = [] {
    Locals each;
    ::dl_iterate_phdr(&find_locals, &each);
    return each;
  }();
  return found;
}

// Stacks are kept for the next fiber: a run makes a few dozen of them.
std::vector<char*>& spare_stacks() {
  static std::vector<char*> spare;
  return spare;
}

char* new_stack() {
  if (!spare_stacks().empty()) {
    char* const stack = spare_stacks().back();
    spare_stacks().pop_back();
    return stack;
  }
  // With a page below that faults when the stack is too small.
  constexpr std::size_t guard = 4096;
  void* const memory = ::mmap(nullptr, stack_size + guard, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  ::mprotect(memory, guard, PROT_NONE);
  return static_cast<char*>(memory) + guard;
}

}  // namespace

ThreadState::ThreadState() {
  const Locals& all = locals();
  locals_.resize(all.size);
  if (all.image_size > 0) std::memcpy(locals_.data(), all.image, all.image_size);
}

void ThreadState::save() noexcept {
  if (!locals_.empty()) std::memcpy(locals_.data(), locals().here, locals_.size());
  std::memcpy(exceptions_, abi::__cxa_get_globals(), sizeof exceptions_);
  error_ = errno;
}

void ThreadState::restore() const noexcept {
  if (!locals_.empty()) std::memcpy(locals().here, locals_.data(), locals_.size());
  std::memcpy(abi::__cxa_get_globals(), exceptions_, sizeof exceptions_);
  errno = error_;
}

Fiber::Fiber(std::function<void()> body) : body_(std::move(body)), stack_(new_stack()) {
  ::getcontext(&first_);
  first_.uc_stack.ss_sp = stack_;
  first_.uc_stack.ss_size = stack_size;
  first_.uc_link = nullptr;
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  ::makecontext(&first_, reinterpret_cast<void (*)()>(&Fiber::entry), 2,
                static_cast<unsigned>(self >> 32U), static_cast<unsigned>(self));
}

Fiber::~Fiber() { spare_stacks().push_back(stack_); }

void Fiber::entry(unsigned high, unsigned low) {
  const auto self = (static_cast<std::uintptr_t>(high) << 32U) | low;
  reinterpret_cast<Fiber*>(self)->run();
}

void Fiber::run() noexcept {
  body_();
  ended_ = true;
  give_way();
}

// NOLINTBEGIN(cert-err52-cpp): nothing on the way has a destructor
void Fiber::resume() {
  outside_state_.save();
  state_.restore();
  if (::_setjmp(outside_) == 0) {
    if (begun_) ::_longjmp(own_, 1);
    begun_ = true;
    ::setcontext(&first_);
  }
  outside_state_.restore();
}

void Fiber::give_way() {
  state_.save();
  if (::_setjmp(own_) == 0) ::_longjmp(outside_, 1);
}
// NOLINTEND(cert-err52-cpp)

}  // namespace simulation
