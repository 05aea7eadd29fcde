// SPDX-License-Identifier: MIT
#include "capture.hpp"

#include <mortise/key.hpp>

#include "speaker.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace mortise::tool {
namespace {

constexpr std::size_t longest_line = 4'096;

constexpr std::size_t one_turn = 65'536;

/// Passes the available bytes to `take`, about `most` of them at most. Closes the descriptor at the
/// end of the stream.
template <class Take>
void drain(Descriptor& fd, std::size_t most, Take take) {
  char bytes[4'096];
  for (std::size_t done = 0; fd.get() >= 0 && done < most;) {
    const ssize_t size = ::read(fd.get(), bytes, sizeof bytes);
    if (size > 0) {
      take(bytes, static_cast<std::size_t>(size));
      done += static_cast<std::size_t>(size);
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
  // Only the tool's end: programs expect a standard output that blocks.
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

void Capture::read(bool errors_too) {
  read_out(one_turn);
  if (errors_too) read_err(one_turn);
}

void Capture::finish() {
  // As many bytes as a pipe holds. Not until its end: another process may have got the pipe, and
  // may go on writing.
  read_out(static_cast<std::size_t>(std::max(::fcntl(out_.get(), F_GETPIPE_SZ), 0)));
  read_err(static_cast<std::size_t>(std::max(::fcntl(err_.get(), F_GETPIPE_SZ), 0)));
}

void Capture::read_out(std::size_t most) {
  drain(out_, most, [this](const char* bytes, std::size_t size) {
    const std::size_t room = std::min(size, longest_outcome - text_.size());
    text_.append(bytes, room);
    // The tool also reads the rest, because a command that waits for its pipe would never end.
    too_long_ = too_long_ || room < size;
  });
}

void Capture::read_err(std::size_t most) {
  drain(err_, most, [this](const char* bytes, std::size_t size) {
    say({bytes, size});
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

bool write_all(int fd, std::string_view text) noexcept {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t size = ::write(fd, text.data() + done, text.size() - done);
    if (size > 0) {
      done += static_cast<std::size_t>(size);
    } else if (errno == EAGAIN) {
      pollfd ready{fd, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return false;  // no space, or the reader has gone
    }
  }
  return true;
}

}  // namespace mortise::tool
