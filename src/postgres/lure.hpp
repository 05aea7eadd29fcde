// SPDX-License-Identifier: MIT
// Where libpq is led to when it is to connect, and its connection is to be another one: it connects
// by itself alone, so it gets a listener of ours, which is nobody's server and accepts nobody.
#pragma once

#include "base/unique_fd.hpp"

#include <string>

namespace mortise::postgres {

struct Lure {
  base::UniqueFd listener{};
  std::string number = "127.0.0.1";
  std::string port{};
  std::string trouble{};  ///< why there is none; empty: there is

  [[nodiscard]] static Lure laid();
};

}  // namespace mortise::postgres
