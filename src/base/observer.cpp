// SPDX-License-Identifier: MIT
// The observer's key function, for its table of virtual functions; and several observers as one.
#include <mortise/observer.hpp>

#include <algorithm>
#include <utility>

namespace mortise {
namespace {

class Several final : public Observer {
 public:
  explicit Several(std::vector<std::shared_ptr<Observer>> all) noexcept : all_(std::move(all)) {}

  void waits(const Event& event) noexcept override {
    for (const auto& each : all_) each->waits(event);
  }
  void wait_ended(const Event& event, const Failure& why) noexcept override {
    for (const auto& each : all_) each->wait_ended(event, why);
  }
  void granted(const Event& event) noexcept override {
    for (const auto& each : all_) each->granted(event);
  }
  void contended(const Event& event) noexcept override {
    for (const auto& each : all_) each->contended(event);
  }
  void renewed(const Event& event) noexcept override {
    for (const auto& each : all_) each->renewed(event);
  }
  void lost(const Event& event, const Failure& why) noexcept override {
    for (const auto& each : all_) each->lost(event, why);
  }
  void released(const Event& event, Released outcome) noexcept override {
    for (const auto& each : all_) each->released(event, outcome);
  }
  void failed(const Event& event, const Failure& why) noexcept override {
    for (const auto& each : all_) each->failed(event, why);
  }
  void wanted(const Event& event) noexcept override {
    for (const auto& each : all_) each->wanted(event);
  }

 private:
  const std::vector<std::shared_ptr<Observer>> all_;
};

}  // namespace

Observer::~Observer() = default;

std::shared_ptr<Observer> observers(std::vector<std::shared_ptr<Observer>> all) {
  if (std::find(all.begin(), all.end(), nullptr) != all.end()) {
    throw Error({Errc::misconfigured, "observers(): one of the observers is null"});
  }
  return std::make_shared<Several>(std::move(all));
}

}  // namespace mortise
