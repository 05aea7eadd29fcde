// SPDX-License-Identifier: MIT
// Random bits from the kernel.
#include "base/random_id.hpp"

#include <sys/random.h>

#include <cerrno>
#include <random>

namespace mortise::base {

std::uint64_t random_bits() noexcept {
  std::uint64_t bits = 0;
  ssize_t got = -1;
  do {
    got = ::getrandom(&bits, sizeof bits, 0);
  } while (got < 0 && errno == EINTR);
  if (got == static_cast<ssize_t>(sizeof bits)) return bits;
  // A kernel or sandbox without getrandom: the device behind std::random_device.
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32U) | device();
}

}  // namespace mortise::base
