// SPDX-License-Identifier: MIT
// Has a certain system call of this process end it, or fail: the place where a process dies is then
// chosen and not met by chance. For children only: it cannot be taken back.
#pragma once

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace mortise::test {

/// A system call, and the low half of one of its arguments.
struct SystemCall {
  long number = 0;
  std::optional<unsigned> argument{};  ///< which; empty = whatever its arguments are
  std::uint32_t value = 0;
};

/// @param action `SECCOMP_RET_KILL_PROCESS`, or `SECCOMP_RET_ERRNO | error`
/// @return false: filters are not to be had here
inline bool filter(const SystemCall& call, std::uint32_t action) {
  std::vector<sock_filter> program;
  const auto load = [](std::size_t offset) {
    return sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
  };
  const auto unless = [](std::uint32_t value, std::uint8_t skip) {
    return sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip);
  };
  program.push_back(load(offsetof(seccomp_data, nr)));
  program.push_back(unless(static_cast<std::uint32_t>(call.number), call.argument ? 3 : 1));
  if (call.argument) {
    program.push_back(load(offsetof(seccomp_data, args) + *call.argument * sizeof(std::uint64_t)));
    program.push_back(unless(call.value, 1));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, action));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog all{.len = static_cast<unsigned short>(program.size()),
                       .filter = program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &all) == 0;
}

}  // namespace mortise::test
