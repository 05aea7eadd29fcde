// SPDX-License-Identifier: MIT
// A lock, or a semaphore, as a thread of a history uses it: what it takes, and what it sees of it.
#pragma once

#include <mortise/lock.hpp>
#include <mortise/semaphore.hpp>

#include "model/history.hpp"

#include <chrono>
#include <cstdint>
#include <system_error>
#include <utility>
#include <vector>

namespace mortise::model {

class Grip {
 public:
  Grip() = default;
  Grip(const Grip&) = delete;
  Grip& operator=(const Grip&) = delete;
  virtual ~Grip() = default;

  [[nodiscard]] virtual Shape shape() const = 0;
  [[nodiscard]] virtual bool acquire(const AcquireOptions& options, std::error_code& ec) = 0;
  virtual Released release(std::error_code& ec, const Owner& owner) = 0;
  [[nodiscard]] virtual std::chrono::nanoseconds valid_for(const Owner& owner) const = 0;
  [[nodiscard]] virtual std::uint64_t token(const Owner& owner) const = 0;
};

class LockGrip final : public Grip {
 public:
  LockGrip(Lock lock, Shape shape) : lock_(std::move(lock)), shape_(shape) {}

  [[nodiscard]] Shape shape() const override { return shape_; }
  [[nodiscard]] bool acquire(const AcquireOptions& options, std::error_code& ec) override {
    return lock_.acquire(options, ec);
  }
  Released release(std::error_code& ec, const Owner& owner) override {
    return lock_.release(ec, owner);
  }
  [[nodiscard]] std::chrono::nanoseconds valid_for(const Owner& owner) const override {
    return lock_.valid_for(owner);
  }
  [[nodiscard]] std::uint64_t token(const Owner& owner) const override {
    return lock_.token(owner).value();
  }

 private:
  Lock lock_;
  const Shape shape_;
};

// What it holds belongs to one owner at a time, as a thread has it: the last that was taken is the
// first to be given back.
class SemaphoreGrip final : public Grip {
 public:
  explicit SemaphoreGrip(Semaphore semaphore) : semaphore_(std::move(semaphore)) {}

  [[nodiscard]] Shape shape() const override { return Shape::permit; }
  [[nodiscard]] bool acquire(const AcquireOptions& options, std::error_code& ec) override {
    AcquireOptions mine = options;
    mine.owner = options.owner.or_this_thread();  // who re-enters, as with a lock
    Permit permit = semaphore_.acquire(mine, ec);
    const bool granted = static_cast<bool>(permit);
    if (granted) permits_.push_back(std::move(permit));
    return granted;
  }
  Released release(std::error_code& ec, const Owner& /*owner*/) override {
    ec.clear();
    const Released outcome = permits_.back().unlock();
    permits_.pop_back();
    return outcome;
  }
  [[nodiscard]] std::chrono::nanoseconds valid_for(const Owner& /*owner*/) const override {
    return permits_.back().valid_for();
  }
  [[nodiscard]] std::uint64_t token(const Owner& /*owner*/) const override {
    return permits_.back().token().value();
  }

 private:
  Semaphore semaphore_;
  std::vector<Permit> permits_;
};

}  // namespace mortise::model
