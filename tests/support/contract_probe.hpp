// SPDX-License-Identifier: MIT
// A look between the library and a backend: counts what is asked, cuts a client off as a crash or a
// broken network would, and lets a test ask the server what the library itself never would.
#pragma once

#include <mortise/backend.hpp>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace mortise::contract {

/// @thread_safety every member may be called concurrently.
class Probe {
 public:
  /// How often something was asked since the beginning.
  struct Counts {
    std::uint64_t acquires = 0;
    std::uint64_t cancels = 0;
    std::uint64_t renewals = 0;
    std::uint64_t releases = 0;
    std::uint64_t recalls = 0;
    [[nodiscard]] std::uint64_t all() const {
      return acquires + cancels + renewals + releases + recalls;
    }
  };
  [[nodiscard]] Counts counts() const;
  /// @return how many renewals of that name were asked for.
  [[nodiscard]] std::uint64_t renewals_of(const std::string& name) const;

  /// @return the hold of the name that was granted last, as the server knows it.
  [[nodiscard]] std::optional<HoldId> last_grant(const std::string& name) const;
  /// @return the attempt for the name that was asked last, granted or not; null = none.
  [[nodiscard]] std::shared_ptr<Acquisition> last_attempt(const std::string& name) const;

  /// From now on nothing that this client asks leaves it.
  void sever() { severed_.store(true); }
  /// Ends that.
  void mend() { severed_.store(false); }

  /// The real backend of a client that lives, started, to be asked directly.
  [[nodiscard]] Backend& backend() const { return *backend_.load(); }

 private:
  friend class ProbedBackend;
  void saw(const std::shared_ptr<Acquisition>& operation);

  std::atomic<bool> severed_{false};
  std::atomic<Backend*> backend_{nullptr};
  mutable std::mutex mutex_;
  Counts counts_;
  std::map<std::string, std::uint64_t> renewed_;
  std::vector<std::shared_ptr<Acquisition>> attempts_;
};

/// The backend with a probe in front of it.
[[nodiscard]] std::unique_ptr<Backend> probed(std::unique_ptr<Backend> backend,
                                              std::shared_ptr<Probe> probe);

}  // namespace mortise::contract
