// SPDX-License-Identifier: MIT
// What a command answers, to whom it may concern: a connection (resp_reply), or a script
// (lua_reply).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace simulation::redis {

class Reply {
 public:
  virtual ~Reply() = default;
  virtual void status(std::string_view words) = 0;
  /// @param words with the code in front and without the sign: "ERR no such key"
  virtual void error(std::string_view words) = 0;
  virtual void integer(std::int64_t value) = 0;
  virtual void bulk(std::string_view bytes) = 0;
  virtual void nil() = 0;
  /// The next `size` answers are its items.
  virtual void array(std::size_t size) = 0;
};

}  // namespace simulation::redis
