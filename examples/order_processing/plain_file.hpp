// SPDX-License-Identifier: MIT
// A file as any program uses it: read it, write at its beginning or its end. It takes no lock and
// promises nothing about other processes; what protects it is the lock that its user holds.
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
  /// Opens it for reading and writing, and makes it where it does not exist.
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

/// Ends a line with a checksum. A process may be killed in the middle of a write, and a plain file
/// does not promise that a write happens as a whole: the checksum tells a whole line from a torn
/// one.
[[nodiscard]] std::string seal(const std::string& words);
/// @return the words of a sealed line (without its end of line); nothing for a torn one.
[[nodiscard]] std::optional<std::string> unseal(std::string_view line);

}  // namespace shop
