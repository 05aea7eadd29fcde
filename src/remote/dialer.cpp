// SPDX-License-Identifier: MIT
// The connector runs on a detached thread, which shares a small record with its dialer, and may
// outlive it. What it returns late, and nobody waits for, is closed there.
#include "remote/dialer.hpp"

#include <mortise/error.hpp>

#include "base/keep_alive.hpp"
#include "base/quiet_thread.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <mutex>
#include <system_error>
#include <utility>

namespace mortise::remote {
namespace {

struct Question {
  std::string host;
  std::uint16_t port = 0;
  bool operator==(const Question&) const = default;
};

std::string words_of(int error) { return std::generic_category().message(error); }

/// Takes what is a socket; says of all else why not, and of what it has taken what it is not.
Dialed judge(int fd) {
  Dialed dialed;
  if (fd < 0) {
    dialed.error = "the connector gave no descriptor";
    return dialed;
  }
  int type = 0;
  socklen_t size = sizeof type;
  if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0) {
    dialed.error = "what the connector gave is no socket: " + words_of(errno);
    return dialed;  // and perhaps somebody else's
  }
  dialed.socket = base::UniqueFd::open([fd] { return fd; });
  socklen_t length = sizeof dialed.peer.address;
  const bool connected =
      ::getpeername(fd, reinterpret_cast<sockaddr*>(&dialed.peer.address), &length) == 0;
  dialed.peer.length = length;
  if (type != SOCK_STREAM) {
    dialed.error = "what the connector gave is no stream socket";
  } else if (!connected) {
    dialed.error = "what the connector gave is not connected: " + words_of(errno);
  } else {
    static_cast<void>(::fcntl(fd, F_SETFD, FD_CLOEXEC));
    static_cast<void>(::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK));
    base::keep_alive(fd);
    return dialed;
  }
  dialed.socket.reset();
  return dialed;
}

Dialed call(const Connector& connector, const Question& question) {
  Dialed dialed;
  try {
    return judge(connector(question.host, question.port));
  } catch (const std::exception& error) {
    dialed.error = error.what();
    if (dialed.error.empty()) dialed.error = "the connector failed without a word";
  } catch (...) {
    dialed.error = "the connector threw what is no std::exception";
  }
  return dialed;
}

}  // namespace

std::shared_ptr<const Connector> shared(Connector connector) {
  if (!connector) throw LockError({Errc::misconfigured, "an empty connector"});
  return std::make_shared<const Connector>(std::move(connector));
}

// Shared by the dialer and its thread, which may outlive it by any time.
struct Dialer::Shared {
  std::shared_ptr<const Connector> connector;
  std::mutex mutex;
  int answered = -1;               // the dialer's eventfd; -1 = the dialer is gone
  bool running = false;            // the thread exists, and will look at `wanted` again
  std::optional<Question> wanted;  // nothing: what is under way is of no use any more
  std::optional<Dialed> answer;

  void run() noexcept;
};

void Dialer::Shared::run() noexcept {
  std::unique_lock lock(mutex);
  while (answered >= 0 && wanted) {
    Dialed dialed;
    try {
      const Question question = *wanted;
      lock.unlock();
      dialed = call(*connector, question);
      lock.lock();
      // Another address was asked for meanwhile, or nobody is left: this is for no one, and closed.
      if (answered < 0 || wanted != question) continue;
    } catch (const std::exception&) {
      if (!lock.owns_lock()) lock.lock();
      dialed = {};
      dialed.error = "no memory";  // short enough to need none
    }
    answer = std::move(dialed);
    wanted.reset();
    static_cast<void>(::eventfd_write(answered, 1));
  }
  running = false;
}

Dialer::Dialer(std::shared_ptr<const Connector> connector) : shared_(std::make_shared<Shared>()) {
  shared_->connector = std::move(connector);
}

Dialer::~Dialer() {
  // In a forked child the mutex may be held by a thread that does not exist there.
  if (generation_ != base::fork_generation()) return;
  std::optional<Dialed> late;  // closed after the mutex was left
  const std::lock_guard lock(shared_->mutex);
  shared_->answered = -1;
  late.swap(shared_->answer);
}

void Dialer::know(const std::string& error) {
  known_.emplace();
  known_->error = error;
  if (answered_) static_cast<void>(::eventfd_write(answered_.get(), 1));
}

void Dialer::start(const base::Address& address) {
  const bool local = !address.path.empty();
  const Question question{local ? address.path : address.host,
                          local ? std::uint16_t{0} : address.port};
  if (!answered_) {
    answered_ = base::UniqueFd::open([] { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); });
    if (!answered_) return know("no descriptor: " + words_of(errno));
  }
  known_.reset();
  std::optional<Dialed> old;  // closed after the mutex was left
  const std::lock_guard lock(shared_->mutex);
  if (shared_->running && shared_->wanted == question) return;
  shared_->answered = answered_.get();
  old.swap(shared_->answer);
  eventfd_t ignored = 0;
  static_cast<void>(::eventfd_read(answered_.get(), &ignored));
  shared_->wanted = question;
  if (shared_->running) return;  // it comes to this address after the one that it hangs in
  try {
    base::quiet_thread([shared = shared_] { shared->run(); }).detach();
    shared_->running = true;
  } catch (const std::exception& error) {
    shared_->wanted.reset();
    know(std::string("no thread for the connector: ") + error.what());
  }
}

int Dialer::descriptor() const noexcept { return answered_.get(); }

std::optional<Dialed> Dialer::take() {
  std::optional<Dialed> taken = std::exchange(known_, std::nullopt);
  if (!taken) {
    const std::lock_guard lock(shared_->mutex);
    taken = std::exchange(shared_->answer, std::nullopt);
  }
  eventfd_t ignored = 0;
  if (taken && answered_) static_cast<void>(::eventfd_read(answered_.get(), &ignored));
  return taken;
}

}  // namespace mortise::remote
