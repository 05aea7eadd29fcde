// SPDX-License-Identifier: MIT
// The system's own functions behind those that the linker leads here (see system.cpp).
#pragma once

namespace simulation::real {

[[nodiscard]] bool try_lock(void* mutex) noexcept;
void unlock(void* mutex) noexcept;

}  // namespace simulation::real
