// SPDX-License-Identifier: MIT
// A part may be dropped without an answer, as any call of which nobody is told: that, too, is the
// end of it, or the whole would never be complete.
#include "redis/topology/renewal_parts.hpp"

#include "base/farewell.hpp"
#include "base/piecemeal_renewal.hpp"

#include <mutex>
#include <utility>

namespace mortise::redis {
namespace {

class Whole {
 public:
  explicit Whole(std::shared_ptr<Renewal> renewal)
      : renewal_(std::move(renewal)), left_(renewal_->items().size()) {}

  /// A part was not answered, for a reason that may pass.
  void troubled(const Failure& why) noexcept {
    const std::lock_guard lock(mutex_);
    base::without_memory([&] { trouble_ = why; });
  }
  /// @param why empty = it was answered
  void learned(std::size_t index, const Renewal::Item& item, const Failure& why) noexcept {
    bool complete = false;
    {
      const std::lock_guard lock(mutex_);
      if (why) {
        if (!why_) base::without_memory([&] { why_ = why; });
      } else {
        Renewal::Item& its = renewal_->items()[index];
        its.answer = item.answer;
        its.counted_from = item.counted_from;
        its.granted = item.granted;
        its.wanted = item.wanted;
        any_ = true;
      }
      complete = --left_ == 0;
    }
    // The others may lie with a server that is silent for longer than this hold lasts.
    if (!complete && !why) base::tell_early(*renewal_, index);
    if (!complete) return;
    if (any_ || !why_) {
      // Parts that have failed are unknown: the library asks again, and its observer is told why.
      base::without_memory([&] {
        if (why_ || trouble_) renewal_->trouble(why_ ? std::move(why_) : std::move(trouble_));
      });
      renewal_->answered();
    } else {
      renewal_->failed(std::move(why_));
    }
  }

 private:
  const std::shared_ptr<Renewal> renewal_;
  std::mutex mutex_;
  std::size_t left_;
  bool any_ = false;
  Failure why_;
  Failure trouble_;
};

class Part final : public Renewal {
 public:
  Part(std::shared_ptr<Whole> whole, std::size_t index, Item item)
      : Renewal({std::move(item)}), whole_(std::move(whole)), index_(index) {}
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  ~Part() override {
    if (!done()) whole_->learned(index_, items().front(), {});
  }

 private:
  void finished() noexcept override {
    base::without_memory([&] {
      if (const auto why = trouble()) whole_->troubled(*why);
    });
    whole_->learned(index_, items().front(), failure());
  }

  const std::shared_ptr<Whole> whole_;
  const std::size_t index_;
};

}  // namespace

std::vector<std::shared_ptr<Renewal>> parts_of(const std::shared_ptr<Renewal>& renewal) {
  std::vector<std::shared_ptr<Renewal>> parts;
  const auto whole = std::make_shared<Whole>(renewal);
  parts.reserve(renewal->items().size());
  for (std::size_t i = 0; i < renewal->items().size(); ++i) {
    parts.push_back(std::make_shared<Part>(whole, i, renewal->items()[i]));
  }
  return parts;
}

}  // namespace mortise::redis
