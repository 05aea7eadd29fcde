// SPDX-License-Identifier: MIT
// A directory of a test's own, gone with the object. In the memory file system where there is one:
// a history is written by mapped pages, and a slow disk would set the pace of the test.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <string>
#include <system_error>

namespace mortise::model {

class TemporaryDirectory {
 public:
  static constexpr std::uintmax_t on_disk = std::numeric_limits<std::uintmax_t>::max();

  // `room`: how many bytes will be written there; a container may have few in memory.
  explicit TemporaryDirectory(std::uintmax_t room = 0) {
    std::error_code none;
    const bool in_memory = ::access("/dev/shm", W_OK | X_OK) == 0 &&
                           (room == 0 || std::filesystem::space("/dev/shm", none).available > room);
    path_ = (in_memory ? "/dev/shm" : std::filesystem::temp_directory_path().string()) +
            "/mortise-model-XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) {
      throw std::system_error(errno, std::generic_category(), "cannot make " + path_);
    }
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const noexcept { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace mortise::model
