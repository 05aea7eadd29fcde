// SPDX-License-Identifier: MIT
// A lock's name with the suffix that tells lock files from other files.
#include "file/file_name.hpp"

#include "base/path_name.hpp"

namespace mortise::file {
namespace {

constexpr std::size_t longest_file_name = 140;
constexpr std::size_t longest_stem = longest_file_name - lock_suffix.size();

__extension__ using Hash = unsigned __int128;

// FNV-1a with the 128-bit parameters of G. Fowler, L. C. Noll and K.-P. Vo. It does not resist an
// attacker, and need not: the file holds the whole name, which is compared before the file is used.
// Of two names with one hash the second gets `protocol`.
Hash fnv1a(std::string_view text) noexcept {
  constexpr Hash prime = (Hash{0x0000000001000000U} << 64U) | 0x000000000000013bU;
  Hash hash = (Hash{0x6c62272e07bb0142U} << 64U) | 0x62b821756295c58dU;
  for (const char byte : text) {
    hash ^= static_cast<unsigned char>(byte);
    hash *= prime;
  }
  return hash;
}

std::string hashed(std::string_view name) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  Hash hash = fnv1a(name);
  std::string hex(32, '0');
  for (std::size_t i = hex.size(); i-- > 0; hash >>= 4U) {
    hex[i] = digits[static_cast<std::size_t>(hash & 15U)];
  }
  return std::string(hash_mark) + hex;
}

static_assert(lock_suffix.size() == key_suffix.size());
static_assert(lock_suffix.size() == semaphore_suffix.size());

}  // namespace

std::string_view suffix_of(Mode mode) noexcept {
  if (mode == Mode::once) return key_suffix;
  return mode == Mode::permit ? semaphore_suffix : lock_suffix;
}

std::string file_name(std::string_view name, Mode mode) {
  std::string out = base::path_name(name);
  if (out.size() > longest_stem) out = hashed(name);
  return out += suffix_of(mode);
}

}  // namespace mortise::file
