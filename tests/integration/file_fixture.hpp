// SPDX-License-Identifier: MIT
// What the tests of the file backend share: a directory of their own, clients on it, and a look at
// its files behind the backend's back.
#pragma once

#include "file/file_backend.hpp"
#include "file/file_name.hpp"
#include "model/temporary.hpp"
#include "support/backend_user.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>

namespace mortise::file {

/// Longer than any wait that works, shorter than a test's patience.
inline constexpr std::chrono::seconds soon{10};

class FileTest : public testing::Test {
 protected:
  [[nodiscard]] const std::string& directory() const { return directory_.path(); }
  [[nodiscard]] std::string path_of(const std::string& name) const {
    return directory() + "/" + file_name(name);
  }
  [[nodiscard]] Settings settings() const {
    Settings out;
    out.directory = directory();
    return out;
  }
  /// A client of its own: another process as far as locks are concerned.
  [[nodiscard]] std::unique_ptr<test::BackendUser> user() const { return user(settings()); }
  [[nodiscard]] static std::unique_ptr<test::BackendUser> user(const Settings& settings) {
    return std::make_unique<test::BackendUser>(std::make_unique<FileBackend>(settings));
  }
  [[nodiscard]] static bool exists(const std::string& path) {
    struct stat found {};
    return ::lstat(path.c_str(), &found) == 0;
  }
  [[nodiscard]] static struct stat status(const std::string& path) {
    struct stat found {};
    EXPECT_EQ(::lstat(path.c_str(), &found), 0) << path;
    return found;
  }
  /// Writes bytes into a file, which is made if need be.
  static void write(const std::string& path, const void* bytes, std::size_t size,
                    off_t offset = 0) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_GE(fd, 0) << path;
    EXPECT_EQ(::pwrite(fd, bytes, size, offset), static_cast<ssize_t>(size));
    ::close(fd);
  }

 private:
  model::TemporaryDirectory directory_;
};

}  // namespace mortise::file
