// SPDX-License-Identifier: MIT
// ZooKeeper's way to write numbers, texts and lists: big-endian, a length before what is not of
// one size. Reads without copies, because a simulation reads millions of requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace simulation::zookeeper {

/// A request that ends too early.
struct Malformed : std::runtime_error {
  Malformed() : std::runtime_error("a message of ZooKeeper ends too early") {}
};

class In {
 public:
  explicit In(std::string_view bytes) : bytes_(bytes) {}

  std::int32_t int32() { return static_cast<std::int32_t>(big(4)); }
  std::int64_t int64() { return static_cast<std::int64_t>(big(8)); }
  bool flag() { return big(1) != 0; }
  /// Null reads as empty.
  std::string_view text() {
    const std::int32_t size = int32();
    return size < 0 ? std::string_view{} : take(static_cast<std::size_t>(size));
  }
  /// Bytes may be null, which is not the same as none.
  std::optional<std::string> bytes() {
    const std::int32_t size = int32();
    if (size < 0) return std::nullopt;
    return std::string(take(static_cast<std::size_t>(size)));
  }
  std::vector<std::string_view> texts() {
    std::vector<std::string_view> out;
    for (std::int32_t left = int32(); left > 0; --left) out.push_back(text());
    return out;
  }
  std::string_view take(std::size_t size) {
    if (size > bytes_.size()) throw Malformed();
    const std::string_view out = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return out;
  }
  [[nodiscard]] std::string_view rest() const noexcept { return bytes_; }

 private:
  std::uint64_t big(std::size_t size) {
    std::uint64_t out = 0;
    for (const char each : take(size)) out = out << 8U | static_cast<unsigned char>(each);
    return out;
  }

  std::string_view bytes_;
};

class Out {
 public:
  Out& int32(std::int32_t value) { return big(static_cast<std::uint32_t>(value), 4); }
  Out& int64(std::int64_t value) { return big(static_cast<std::uint64_t>(value), 8); }
  Out& flag(bool value) { return big(value ? 1 : 0, 1); }
  Out& text(std::string_view value) {
    int32(static_cast<std::int32_t>(value.size()));
    bytes_.append(value);
    return *this;
  }
  Out& bytes(const std::optional<std::string>& value) { return value ? text(*value) : int32(-1); }
  Out& raw(std::string_view value) {
    bytes_.append(value);
    return *this;
  }
  [[nodiscard]] const std::string& str() const noexcept { return bytes_; }
  /// As a frame: its length, and itself.
  [[nodiscard]] std::string frame() const { return Out().text(bytes_).bytes_; }

 private:
  Out& big(std::uint64_t value, unsigned size) {
    char all[8];
    for (unsigned i = 0; i < size; ++i) all[i] = static_cast<char>(value >> (8U * (size - 1 - i)));
    bytes_.append(all, size);
    return *this;
  }

  std::string bytes_;
};

}  // namespace simulation::zookeeper
