// SPDX-License-Identifier: MIT
// What a thread inside of the engine holds: each is taken under the engine's mutex and given back
// under it by its destructor, whichever way the thread leaves. Part of engine.cpp.
#pragma once

#include "base/mutant.hpp"
#include "runtime/engine/engine.hpp"

#include <utility>

namespace mortise::runtime {

/// Keeps the sources of a thread that polls from being taken away.
class Engine::Attending {
 public:
  /// Under the mutex, as is `attendance()` changed.
  Attending(Engine& engine, Lock& lock) noexcept : engine_(engine), lock_(lock) {
    engine_.attended_.push_back(attendance_);
  }
  Attending(const Attending&) = delete;
  Attending& operator=(const Attending&) = delete;
  ~Attending() {
    if (!lock_.owns_lock()) lock_.lock();
    engine_.attended_.remove(attendance_);
    engine_.left_.notify_all();
  }
  [[nodiscard]] Attendance& attendance() noexcept { return attendance_; }

 private:
  Engine& engine_;
  Lock& lock_;
  Attendance attendance_;
};

/// Holds a role for a caller, and hands it on whichever way the caller leaves.
class Engine::Reading {
 public:
  Reading(Engine& engine, Lock& lock, ReaderRole& role) noexcept
      : engine_(engine), lock_(lock), role_(role) {
    role_.taken = true;
    if (std::exchange(role_.background, false)) signal(engine_.readers_.background_wake.get());
  }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;
  ~Reading() {
    if (!lock_.owns_lock()) lock_.lock();
    if (base::mutant("core.role_kept_by_who_left")) return;
    role_.taken = false;
    role_.asleep_until.store(Instant::min());
    engine_.readers_.hand_on_locked(role_);
    // By what came with the pushes this thread may have asked for others, who sleep.
    if (&role_ == &engine_.readers_.pushes) engine_.readers_.have_replies_read_locked();
  }

 private:
  Engine& engine_;
  Lock& lock_;
  ReaderRole& role_;
};

/// Holds the role of the reader of replies for a caller that came by the shortcut.
class Engine::Alone {
 public:
  explicit Alone(Engine& engine) noexcept : engine_(engine) {}
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;
  /// The caller will read as one of many in a moment, whatever comes: nobody else has to come for
  /// what is left.
  void go_on() noexcept { goes_on_ = true; }
  ~Alone() {
    // As long as the role is this thread's: afterwards the sources may be gone.
    const bool leaves_replies = engine_.readers_.shortcut.outstanding();
    if (engine_.readers_.shortcut.leave()) {
      if (leaves_replies && !goes_on_) signal(engine_.readers_.background_wake.get());
      return;
    }
    if (base::mutant("core.shortcut_left_unheard")) return;
    const Lock lock(engine_.mutex_);
    engine_.readers_.replies.taken = false;
    engine_.readers_.by_shortcut = false;
    engine_.left_.notify_all();
    engine_.readers_.hand_on_locked(engine_.readers_.replies);
    engine_.readers_.open_shortcut_locked();
  }

 private:
  Engine& engine_;
  bool goes_on_ = false;
};

/// Keeps a caller in the list of those who wait for a role's reader, and passes a call on that the
/// caller does not follow.
class Engine::Following {
 public:
  Following(Engine& engine, Lock& lock, ReaderRole& role, Follower& self) noexcept
      : engine_(engine), lock_(lock), self_(self) {
    self_.role = &role;
    role.followers.push_back(self_);
  }
  Following(const Following&) = delete;
  Following& operator=(const Following&) = delete;
  ~Following() {
    if (!lock_.owns_lock()) lock_.lock();
    self_.role->followers.remove(self_);
    if (engine_.last_ == &self_) engine_.last_ = nullptr;
    for (ReaderRole* const role : {&engine_.readers_.replies, &engine_.readers_.pushes}) {
      if (role->called != &self_) continue;
      role->called = nullptr;
      if (!role->taken) engine_.readers_.hand_on_locked(*role);
    }
  }

 private:
  Engine& engine_;
  Lock& lock_;
  Follower& self_;
};

/// Holds roles for the background thread, as long as no caller takes them.
class Engine::InBackground {
 public:
  InBackground(Engine& engine, Lock& lock, bool pushes, bool replies) noexcept
      : engine_(engine), lock_(lock), pushes_(pushes), replies_(replies) {
    engine_.readers_.pushes.background = pushes;
    engine_.readers_.replies.background = replies;
  }
  InBackground(const InBackground&) = delete;
  InBackground& operator=(const InBackground&) = delete;
  ~InBackground() {
    if (!lock_.owns_lock()) lock_.lock();
    // Whoever took a role meanwhile may have looked at a source before this thread changed it, by
    // what it just read there.
    ReaderRole& pushes = engine_.readers_.pushes;
    ReaderRole& replies = engine_.readers_.replies;
    if (pushes_ && !pushes.background) signal(pushes.wake.get());
    if (replies_ && !replies.background) signal(replies.wake.get());
    pushes.background = false;
    replies.background = false;
  }

 private:
  Engine& engine_;
  Lock& lock_;
  const bool pushes_;
  const bool replies_;
};

}  // namespace mortise::runtime
