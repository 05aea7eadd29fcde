// SPDX-License-Identifier: MIT
// What a program does that locks a file by hand: the floor of the file backend. It knows no loss,
// no owner, no label, and does not check that its file is still the one of the path.
#pragma once

#include "handoff.hpp"

#include <cstdint>
#include <string>

namespace mortise::bench {

/// A directory of its own below the temporary one, removed at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory();
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

/// An open file with a counter in its first bytes. Throws where a system call fails.
class RawFile {
 public:
  /// Opens it, and makes it where it is missing.
  explicit RawFile(const std::string& path);
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;
  ~RawFile();
  /// F_OFD_SETLK. @return whether it is locked now
  [[nodiscard]] bool try_lock() const;
  void unlock() const;
  /// pread, add one, pwrite.
  void count() const;
  void flush() const;

 private:
  int fd_;
};

/// Makes a file in a directory, and flushes both.
void write_durably(const std::string& directory, const std::string& name, const std::string& bytes);
/// Opens the file, reads it, and closes it.
[[nodiscard]] std::string read_whole(const std::string& path);

/// Locks the file, and sleeps on a futex shared by all processes where another has it.
/// @param freed moved at each unlock; in shared memory
[[nodiscard]] Baton raw_file_baton(const std::string& path, std::atomic<std::uint32_t>& freed);

}  // namespace mortise::bench
