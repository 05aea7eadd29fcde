// SPDX-License-Identifier: MIT
// A number is a weak thing to be handed: it may be closed, somebody else's, or ours already. What
// can be told is told by the socket behind it, in one step with taking it.
#include "base/handed_over.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace mortise::base {

UniqueFd take_over(int fd) noexcept {
  return UniqueFd::open([fd] {
    const SocketIdentity socket = identity_of(fd);
    if (socket.inode == 0) {
      errno = ::fcntl(fd, F_GETFD) < 0 ? EBADF : ENOTSOCK;
      return -1;
    }
    const Whose whose_it_is = whose(socket);
    if (whose_it_is == Whose::nobodys) return fd;
    if (whose_it_is == Whose::ours_too) ::close(fd);
    errno = EBUSY;
    return -1;
  });
}

}  // namespace mortise::base
