// SPDX-License-Identifier: MIT
#include "simulation/redis/sha1.hpp"

#include <openssl/sha.h>

#include <array>

namespace simulation::redis {

std::string sha1_hex(std::string_view text) {
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest{};
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : digest) {
    out += digits[byte >> 4U];
    out += digits[byte & 15U];
  }
  return out;
}

}  // namespace simulation::redis
