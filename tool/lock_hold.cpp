// SPDX-License-Identifier: MIT
// The hold of a lock, for `mortise run`.
#include <mortise/client.hpp>
#include <mortise/guard.hpp>

#include "hold.hpp"
#include "status.hpp"

#include <string>
#include <utility>

namespace mortise::tool {
namespace {

class LockHold final : public Hold {
 public:
  explicit LockHold(const Order& order)
      : order_(order),
        client_(order.url),
        lock_(client_.make_lock(order.name, options_of(order))) {}

  bool take(std::stop_token stop) override {
    std::error_code ec;
    guard_ = Guard(lock_, {.wait = order_.command.wait, .stop = std::move(stop)}, ec);
    if (guard_) return true;
    if (ec == Errc::timeout) {
      const auto& holder = guard_.holder();
      const bool known = holder && !holder->label.empty();
      status_ = fail(ec, "'" + order_.name + "' is held by " +
                             (known ? holder->label : std::string("another client")));
    } else if (ec != Errc::cancelled) {
      status_ = fail(ec, guard_.error_text());
    } else {
      status_ = busy;
    }
    return false;
  }
  std::chrono::nanoseconds lease() const override {
    return client_.capabilities().effective_lease.value_or(order_.command.lease);
  }
  std::chrono::nanoseconds valid_for() const override { return guard_.valid_for(); }
  const std::stop_token& lost() const override { return guard_.lost(); }
  std::vector<std::string> environment() const override {
    return {"MORTISE_TOKEN=" + std::to_string(guard_.token().value()),
            "MORTISE_NAME=" + order_.name};
  }
  int conclude(int command_status) override {
    switch (guard_.unlock()) {
      case Released::released: return command_status;
      case Released::was_lost:
        complain("the hold of '" + order_.name +
                     "' was lost before the program ended with status " +
                     std::to_string(command_status),
                 "Another client may have held it in the meantime: check what both have written.");
        return hold_lost;
      case Released::unknown:
        complain("the store did not answer the release of '" + order_.name + "'",
                 "Do nothing: the store frees it at the latest when the lease ends.");
        break;
    }
    return command_status;
  }
  void give_back() noexcept override { guard_.unlock(); }

 private:
  static LockOptions options_of(const Order& order) {
    LockOptions options;
    options.lease = order.command.lease;
    options.label = order.command.label;
    options.min_hold = order.command.min_hold;
    if (order.command.shared) options.mode = Mode::shared;
    return options;
  }

  const Order& order_;
  Client client_;
  Lock lock_;
  Guard guard_;
};

}  // namespace

std::unique_ptr<Hold> lock_hold(const Order& order) { return std::make_unique<LockHold>(order); }

}  // namespace mortise::tool
