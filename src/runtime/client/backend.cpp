// SPDX-License-Identifier: MIT
// Homes for the virtual tables of the backend's interface, and its defaults.
#include <mortise/backend.hpp>

#include "base/farewell.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace mortise {

Source::~Source() = default;
Host::~Host() = default;
void Host::hold_wanted(const HoldId& /*hold*/) {}
Records::~Records() = default;
Inspector::~Inspector() = default;
Catalog::~Catalog() = default;
Enforcer::~Enforcer() = default;
Backend::~Backend() = default;

namespace {

/// The renewal of a hold that no client has: the store answers that the hold is lost.
class Probe final : public Renewal {
 public:
  explicit Probe(std::shared_ptr<Check> check)
      : Renewal({item_of(*check)}), check_(std::move(check)) {}

 private:
  static Item item_of(const Check& check) {
    AttemptId nobody = check.client().value_or(AttemptId{});
    nobody.sequence = 0;  // the attempts of a client begin with 1
    return {.hold = {.name = "check", .attempt = nobody, .number = 1},
            .lease = std::min<std::chrono::nanoseconds>(check.lease(), std::chrono::hours(24))};
  }
  void finished() noexcept override {
    if (!failure() && items().front().answer != Answer::unknown) return check_->answered();
    Failure why(Errc::unavailable, std::string());
    if (failure()) why.code = failure().code;
    base::without_memory([&] { why.text = failure().text; });
    check_->failed(std::move(why));
  }

  const std::shared_ptr<Check> check_;
};

}  // namespace

void Backend::stop() noexcept {}

void Backend::check(const std::shared_ptr<Check>& operation) {
  renew(std::make_shared<Probe>(operation));
}

std::string Backend::identity() const { return describe().name; }

Records* Backend::records() noexcept { return nullptr; }
Inspector* Backend::inspector() noexcept { return nullptr; }
Catalog* Backend::catalog() noexcept { return nullptr; }
Enforcer* Backend::enforcer() noexcept { return nullptr; }

std::string Backend::why_not(Feature /*feature*/) const { return {}; }

bool Backend::wait(Operation& /*operation*/, std::uint32_t /*seen*/,
                   std::chrono::nanoseconds /*at_most*/) {
  return false;
}

bool Backend::needs_waiting_threads() const noexcept { return false; }

}  // namespace mortise
