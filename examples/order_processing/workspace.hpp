// SPDX-License-Identifier: MIT
// The temporary directory of one demonstration. It is removed at the end, unless it should be kept.
#pragma once

#include <filesystem>
#include <string>

namespace shop {

class Workspace {
 public:
  /// @throws std::system_error
  explicit Workspace(bool keep);
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace();

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  /// @return the URL of lock files in this directory.
  [[nodiscard]] std::string lock_url() const;

 private:
  std::filesystem::path path_;
  bool keep_;
};

}  // namespace shop
