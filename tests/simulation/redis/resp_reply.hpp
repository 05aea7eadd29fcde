// SPDX-License-Identifier: MIT
// Answers as RESP2 bytes.
#pragma once

#include "simulation/redis/reply.hpp"

#include <string>

namespace simulation::redis {

class RespReply final : public Reply {
 public:
  void status(std::string_view words) override;
  void error(std::string_view words) override;
  void integer(std::int64_t value) override;
  void bulk(std::string_view bytes) override;
  void nil() override;
  void array(std::size_t size) override;

  /// What was answered since the last `clear()`.
  [[nodiscard]] std::string_view bytes() const noexcept { return bytes_; }
  void clear() noexcept { bytes_.clear(); }

 private:
  void header(char sign, std::int64_t number);
  void line(char sign, std::string_view words);

  std::string bytes_;
};

}  // namespace simulation::redis
