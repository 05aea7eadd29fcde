// SPDX-License-Identifier: MIT
// Numbers and texts as ZooKeeper's protocol writes them: big-endian, texts and lists with their
// length before them. Reading past the end throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::test {

class ZooKeeperWriter {
 public:
  ZooKeeperWriter& byte(std::uint8_t value) {
    bytes_.push_back(static_cast<char>(value));
    return *this;
  }
  ZooKeeperWriter& int32(std::int32_t value) { return big(static_cast<std::uint32_t>(value), 4); }
  ZooKeeperWriter& int64(std::int64_t value) { return big(static_cast<std::uint64_t>(value), 8); }
  ZooKeeperWriter& text(std::string_view value) {
    int32(static_cast<std::int32_t>(value.size()));
    bytes_.append(value);
    return *this;
  }
  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }

 private:
  ZooKeeperWriter& big(std::uint64_t value, unsigned size) {
    while (size-- > 0) bytes_.push_back(static_cast<char>(value >> (8U * size) & 0xffU));
    return *this;
  }

  std::string bytes_;
};

class ZooKeeperReader {
 public:
  explicit ZooKeeperReader(std::string_view bytes) : bytes_(bytes) {}

  std::int32_t int32() { return static_cast<std::int32_t>(big(4)); }
  std::int64_t int64() { return static_cast<std::int64_t>(big(8)); }
  std::string text() {
    const std::int32_t size = int32();
    return size < 0 ? std::string() : std::string(take(static_cast<std::size_t>(size)));
  }
  std::vector<std::string> texts() {
    std::vector<std::string> out;
    for (std::int32_t left = int32(); left > 0; --left) out.push_back(text());
    return out;
  }
  [[nodiscard]] std::string_view rest() const noexcept { return bytes_; }

 private:
  std::string_view take(std::size_t size) {
    if (size > bytes_.size()) throw std::out_of_range("a message of ZooKeeper ends too early");
    const std::string_view out = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return out;
  }
  std::uint64_t big(std::size_t size) {
    std::uint64_t out = 0;
    for (const char each : take(size)) out = out << 8U | static_cast<unsigned char>(each);
    return out;
  }

  std::string_view bytes_;
};

}  // namespace mortise::test
