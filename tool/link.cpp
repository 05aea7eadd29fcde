// SPDX-License-Identifier: MIT
#include "link.hpp"

#include <sys/mman.h>
#include <sys/socket.h>

#include <cerrno>
#include <new>

namespace mortise::tool {

bool Link::say(Message::Kind kind, int value) const noexcept {
  const Message message{kind, value};
  ssize_t sent = 0;
  do {
    sent = ::send(fd_.get(), &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return sent >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

Link::Heard Link::hear(Message& message) const noexcept {
  for (;;) {
    const ssize_t size = ::recv(fd_.get(), &message, sizeof message, MSG_DONTWAIT);
    if (size == static_cast<ssize_t>(sizeof message)) return Heard::message;
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Heard::nothing;
    return Heard::end;
  }
}

SharedMoment::SharedMoment() {
  static_assert(std::atomic<std::int64_t>::is_always_lock_free, "processes share it");
  void* const page =
      ::mmap(nullptr, sizeof *value_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) throw std::bad_alloc();
  value_ = new (page) std::atomic<std::int64_t>(never.time_since_epoch().count());
}

SharedMoment::~SharedMoment() { ::munmap(value_, sizeof *value_); }

}  // namespace mortise::tool
