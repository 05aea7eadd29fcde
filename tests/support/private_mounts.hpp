// SPDX-License-Identifier: MIT
// File systems for tests: mounted in a mount name space of this process alone, so that nothing of
// them is left however the process ends.
#pragma once

#include <sched.h>
#include <sys/mount.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace mortise::test {

/// A small tmpfs on a directory, unmounted by the destructor.
class TmpfsMount {
 public:
  /// @param options as for mount(8): "size=16k"
  TmpfsMount(std::string directory, const std::string& options) : directory_(std::move(directory)) {
    // From here on this process sees its own mounts only; a second time does no harm.
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("mortise-test", directory_.c_str(), "tmpfs", 0, options.c_str()) != 0) {
      why_not_ = "cannot mount a tmpfs: " + std::generic_category().message(errno);
    }
  }
  TmpfsMount(const TmpfsMount&) = delete;
  TmpfsMount& operator=(const TmpfsMount&) = delete;
  ~TmpfsMount() {
    if (why_not_.empty()) ::umount2(directory_.c_str(), MNT_DETACH);
  }

  /// @return the reason for a skip; empty where it is mounted.
  [[nodiscard]] const std::string& why_not() const noexcept { return why_not_; }
  /// Makes it read-only. @return whether that worked
  [[nodiscard]] bool make_read_only() const {
    return ::mount(nullptr, directory_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0;
  }

 private:
  std::string directory_;
  std::string why_not_;
};

}  // namespace mortise::test
