// SPDX-License-Identifier: MIT
#include "zookeeper/sha256.hpp"

#include <openssl/evp.h>

#include <array>
#include <new>

namespace mortise::zookeeper {

std::string sha256(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (::EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, ::EVP_sha256(), nullptr) !=
      1) {
    throw std::bad_alloc();
  }
  std::string text;
  text.reserve(std::size_t{2} * size);
  for (unsigned i = 0; i < size; ++i) {
    text += digits[digest[i] >> 4U];
    text += digits[digest[i] & 15U];
  }
  return text;
}

}  // namespace mortise::zookeeper
