// SPDX-License-Identifier: MIT
#include "speaker.hpp"

#include "capture.hpp"

#include <sys/eventfd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace mortise::tool {
namespace {

constexpr std::size_t most_unwritten = 65'536;

std::atomic<Speaker*> speaker{nullptr};

}  // namespace

Speaker::Speaker()
    : room_(must(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), "eventfd")),
      thread_([this] { write(); }) {
  speaker = this;
}

Speaker::~Speaker() {
  speaker = nullptr;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
}

void Speaker::say(std::string_view text) {
  {
    const std::lock_guard lock(mutex_);
    text_ += text;
  }
  changed_.notify_all();
}

bool Speaker::has_room() {
  const std::lock_guard lock(mutex_);
  if (text_.size() < most_unwritten) return true;
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t size = ::read(room_.get(), &count, sizeof count);
  return false;
}

void Speaker::wait(std::chrono::milliseconds longest) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, longest, [this] { return text_.empty() && !writing_; });
}

void Speaker::write() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ended_ || !text_.empty(); });
    if (text_.empty()) return;
    const std::string next = std::exchange(text_, {});
    writing_ = true;
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t size = ::write(room_.get(), &one, sizeof one);
    lock.unlock();
    write_all(STDERR_FILENO, next);
    lock.lock();
    writing_ = false;
    changed_.notify_all();
  }
}

void say(std::string_view text) {
  if (Speaker* const there = speaker.load()) {
    there->say(text);
  } else {
    write_all(STDERR_FILENO, text);
  }
}

}  // namespace mortise::tool
