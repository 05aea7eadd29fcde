// SPDX-License-Identifier: MIT
// What users call: include/mortise/zookeeper.hpp.
#include <mortise/zookeeper.hpp>

#include "base/errand.hpp"
#include "zookeeper/zookeeper_backend.hpp"

#include <string>

namespace mortise::zookeeper {

std::unique_ptr<Backend> backend(std::string_view url) {
  return std::make_unique<ZooKeeperBackend>(Settings::parse(url));
}

std::optional<Holder> force_release(std::string_view url, std::string_view name,
                                    std::chrono::milliseconds wait) {
  if (name.empty()) throw LockError({Errc::misconfigured, "the lock's name is empty"});
  base::Errand errand;
  ZooKeeperBackend backend(Settings::parse(url));
  const auto operation = std::make_shared<Inspection>(std::string(name));
  backend.start(errand);
  backend.force_release(operation);
  errand.run(*operation, wait);
  const bool done = operation->done();
  const std::optional<Failure> trouble = operation->trouble();
  backend.stop();
  if (done && !operation->failure()) return operation->holder();
  if (done) throw LockError(operation->failure());
  throw LockError(trouble ? *trouble
                          : Failure{Errc::unavailable, backend.describe() + ": no answer in time"});
}

}  // namespace mortise::zookeeper
