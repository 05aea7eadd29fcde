// SPDX-License-Identifier: MIT
// The attempts of a session that wait for news of a path.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mortise::zookeeper {

class Watcher {
 public:
  virtual ~Watcher() = default;
  /// @param gone the node at that path; otherwise its data or its children have changed
  virtual void watched(std::string_view path, bool gone) = 0;
};

class Watches {
 public:
  /// It waits, once, for news of that path.
  void add(const std::string& path, const std::shared_ptr<Watcher>& watcher) {
    const auto [found, is_new] = watchers_.try_emplace(path);
    if (is_new) bytes_ += path.size();
    std::erase_if(found->second,
                  [&](const auto& each) { return each.expired() || each.lock() == watcher; });
    found->second.push_back(watcher);
  }
  /// There is news of that path. @return its watchers, which wait no longer
  [[nodiscard]] std::vector<std::shared_ptr<Watcher>> take(std::string_view path) {
    std::vector<std::shared_ptr<Watcher>> watchers;
    const auto found = watchers_.find(std::string(path));
    if (found == watchers_.end()) return watchers;
    for (const auto& each : found->second) {
      if (std::shared_ptr<Watcher> watcher = each.lock()) watchers.push_back(std::move(watcher));
    }
    erase(found);
    return watchers;
  }
  /// @return true if it was the last watcher of that path.
  bool remove(const std::string& path, const Watcher& watcher) {
    const auto found = watchers_.find(path);
    if (found == watchers_.end()) return false;
    std::erase_if(found->second, [&](const auto& each) {
      const std::shared_ptr<Watcher> other = each.lock();
      return !other || other.get() == &watcher;
    });
    if (!found->second.empty()) return false;
    erase(found);
    return true;
  }
  void clear() noexcept {
    watchers_.clear();
    bytes_ = 0;
  }
  /// @return the bytes of all paths.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  using Watchers = std::unordered_map<std::string, std::vector<std::weak_ptr<Watcher>>>;
  void erase(Watchers::iterator place) noexcept {
    bytes_ -= place->first.size();
    watchers_.erase(place);
  }

  Watchers watchers_;
  std::size_t bytes_ = 0;
};

}  // namespace mortise::zookeeper
