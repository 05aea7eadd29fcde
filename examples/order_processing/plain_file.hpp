// SPDX-License-Identifier: MIT
// A file as any program uses it: read it, write at its beginning or its end. It takes no lock. The
// lock that its user holds protects it from other processes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace shop {

/// @throws std::system_error that names the file, from every member
class PlainFile {
 public:
  enum class Writes { at_the_beginning, at_the_end };
  /// Opens the file for reading and writing, and creates it if it does not exist.
  PlainFile(const std::filesystem::path& path, Writes writes);
  PlainFile(const PlainFile&) = delete;
  PlainFile& operator=(const PlainFile&) = delete;
  ~PlainFile();

  [[nodiscard]] std::string read() const;
  void write(std::string_view text);
  void truncate(std::size_t size);

 private:
  [[noreturn]] void fail(const char* what) const;

  std::string path_;
  int descriptor_;
};

/// Adds a checksum to a line. A process may be killed in the middle of a write, and a write to a
/// plain file is not atomic. The checksum shows whether a line is complete.
[[nodiscard]] std::string seal(const std::string& words);
/// @return the text of a sealed line (without its end of line); empty for a torn line.
[[nodiscard]] std::optional<std::string> unseal(std::string_view line);

}  // namespace shop
