// SPDX-License-Identifier: MIT
// A thread of the simulated program: a stack of its own inside the one real thread, with what C and
// C++ keep for each thread (thread_local variables, errno, exceptions in flight) changed at each
// switch, so that the code on it cannot tell.
#pragma once

#include <ucontext.h>

#include <csetjmp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace simulation {

/// What belongs to a thread, put aside while another one runs.
class ThreadState {
 public:
  ThreadState();
  void save() noexcept;
  void restore() const noexcept;

 private:
  std::vector<std::byte> locals_;  // the program's thread_local variables
  int error_ = 0;
  void* exceptions_[2] = {};  // __cxa_eh_globals: caught ones, and how many are uncaught
};

/// A stack on which a function runs until it returns or gives way.
class Fiber {
 public:
  explicit Fiber(std::function<void()> body);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Runs it until it gives way or ends. Called from outside of all fibers.
  void resume();
  /// Goes back to whoever resumed it. Called from inside.
  void give_way();
  [[nodiscard]] bool ended() const noexcept { return ended_; }

 private:
  static void entry(unsigned high, unsigned low);
  void run() noexcept;

  std::function<void()> body_;
  char* stack_;
  ucontext_t first_{};  // where it begins; from then on:
  std::jmp_buf own_{};
  std::jmp_buf outside_{};
  bool begun_ = false;
  ThreadState state_;
  ThreadState outside_state_;
  bool ended_ = false;
};

}  // namespace simulation
