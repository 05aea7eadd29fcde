// SPDX-License-Identifier: MIT
// What all fuzz targets share: the entry point, the one way to fail, and an input that is taken
// apart byte by byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

// Called with each input, by libFuzzer or by driver.cpp.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace mortise::fuzz {

/// Ends the process where a property does not hold.
inline void expect(bool truth, const char* property, std::string_view seen = "") {
  if (truth) return;
  std::fprintf(stderr, "fuzz: not true: %s: '%.*s'\n", property, static_cast<int>(seen.size()),
               seen.data());
  std::abort();
}

/// Takes an input apart from its front; beyond its end there are zeros.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size)
      : rest_(reinterpret_cast<const char*>(data), size) {}

  [[nodiscard]] bool empty() const noexcept { return rest_.empty(); }
  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const auto first = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return first;
  }
  std::string_view bytes(std::size_t size) {
    const std::string_view piece = rest_.substr(0, size);
    rest_.remove_prefix(piece.size());
    return piece;
  }
  /// To the next line feed, which is taken, too.
  std::string_view line() {
    const std::string_view piece = bytes(rest_.find('\n'));
    bytes(1);
    return piece;
  }
  /// @return eight bytes, the lowest first.
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 8) value |= std::uint64_t{byte()} << shift;
    return value;
  }
  std::string_view rest() { return bytes(rest_.size()); }

 private:
  std::string_view rest_;
};

/// @return whether the text may stand in one line of a log.
[[nodiscard]] inline bool is_one_line(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  }
  return true;
}

}  // namespace mortise::fuzz
