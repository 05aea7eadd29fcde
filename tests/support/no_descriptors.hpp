// SPDX-License-Identifier: MIT
// This process has no descriptor left while the object lives. Those that are open go on.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace mortise::test {

class NoDescriptors {
 public:
  NoDescriptors() {
    int highest = 0;
    for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
      highest = std::max(highest, std::atoi(each.path().filename().c_str()));
    }
    ::getrlimit(RLIMIT_NOFILE, &before_);
    // Not lower: poll() takes no more descriptors than the limit allows.
    const rlimit full{.rlim_cur = static_cast<rlim_t>(highest) + 1, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &full);
    take_all();
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;
  ~NoDescriptors() {
    for (const int fd : taken_) ::close(fd);
    ::setrlimit(RLIMIT_NOFILE, &before_);
  }

  /// Takes what was given back since: a connection that was on its way has failed.
  void take_all() {
    for (int fd = 0; (fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) taken_.push_back(fd);
  }

 private:
  rlimit before_{};
  std::vector<int> taken_;
};

}  // namespace mortise::test
