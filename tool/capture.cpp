// SPDX-License-Identifier: MIT
#include "capture.hpp"

#include <mortise/record.hpp>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace mortise::tool {
namespace {

constexpr std::size_t longest_line = 4'096;

/// Hands what is there to `take`, and closes the descriptor at its end.
template <class Take>
void drain(Descriptor& fd, Take take) {
  char bytes[4'096];
  while (fd.get() >= 0) {
    const ssize_t size = ::read(fd.get(), bytes, sizeof bytes);
    if (size > 0) {
      take(bytes, static_cast<std::size_t>(size));
    } else if (size == 0) {
      fd.reset();
    } else if (errno != EINTR) {
      return;
    }
  }
}

void make_pipe(Descriptor& read_end, Descriptor& write_end) {
  int ends[2];
  must(::pipe2(ends, O_CLOEXEC), "pipe");
  read_end = Descriptor(ends[0]);
  write_end = Descriptor(ends[1]);
  // Our end alone: the command's standard output is to be as programs expect it.
  must(::fcntl(ends[0], F_SETFL, O_NONBLOCK), "fcntl");
}

}  // namespace

Capture::Capture() {
  make_pipe(out_, out_write_);
  make_pipe(err_, err_write_);
}

void Capture::started() noexcept {
  out_write_.reset();
  err_write_.reset();
}

void Capture::read() {
  drain(out_, [this](const char* bytes, std::size_t size) {
    const std::size_t room = std::min(size, longest_outcome - text_.size());
    text_.append(bytes, room);
    // The rest is read as well: a command that waits for its pipe would never end.
    too_long_ = too_long_ || room < size;
  });
  drain(err_, [this](const char* bytes, std::size_t size) {
    write_all(STDERR_FILENO, std::string(bytes, size));
    keep_line(bytes, size);
  });
}

void Capture::keep_line(const char* bytes, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    if (bytes[i] != '\n') {
      if (line_.size() < longest_line) line_ += bytes[i];
    } else if (!line_.empty()) {
      last_ = std::exchange(line_, {});
    }
  }
}

const std::string& Capture::last_line() const noexcept { return line_.empty() ? last_ : line_; }

void write_all(int fd, const std::string& text) noexcept {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t size = ::write(fd, text.data() + done, text.size() - done);
    if (size > 0) {
      done += static_cast<std::size_t>(size);
    } else if (errno == EAGAIN) {
      pollfd ready{fd, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return;  // nobody reads it any more
    }
  }
}

}  // namespace mortise::tool
