// SPDX-License-Identifier: MIT
// The connector runs on a detached thread, which shares a small record with its dialer, and may
// outlive it. What it returns late, and nobody waits for, is closed there.
#include "remote/dialer.hpp"

#include <mortise/clock.hpp>
#include <mortise/error.hpp>

#include "base/error_words.hpp"
#include "base/handed_over.hpp"
#include "base/keep_alive.hpp"
#include "base/printable.hpp"
#include "base/quiet_thread.hpp"
#include "base/system_error.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>

namespace mortise::remote {
namespace {

std::string words_of(int error) { return std::generic_category().message(error); }

/// The words of somebody else's exception go into messages of one line.
std::string one_line(const char* said) {
  constexpr std::size_t enough = 240;
  std::string line(base::beginning_of(said != nullptr ? said : "", enough));
  std::replace_if(
      line.begin(), line.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return line.empty() ? "the connector failed without a message" : line;
}

Dialed refused(std::string why, Errc code = Errc::unavailable) {
  Dialed none;
  none.error = std::move(why);
  none.code = code;
  return none;
}

/// Takes what is a socket; says of all else why not, and closes of that what is a socket.
Dialed judge(int given) {
  if (given < 0) return refused("the connector returned no descriptor");
  Dialed dialed;
  dialed.socket = base::take_over(given);
  if (!dialed.socket) {
    const int error = errno;
    // Two connections that share a stream would take each other's answers for their own.
    if (error == EBUSY) {
      return refused("the connector returned a connection that is already in use");
    }
    if (base::is_limit(error)) {
      return refused("cannot take over the connector's descriptor: " + words_of(error),
                     Errc::exhausted);
    }
    return refused("the connector's descriptor is not a socket: " + words_of(error));
  }
  const int fd = dialed.socket.get();
  // Close() would wait for that long, whatever else is said.
  const linger in_no_time{.l_onoff = 0, .l_linger = 0};
  static_cast<void>(::setsockopt(fd, SOL_SOCKET, SO_LINGER, &in_no_time, sizeof in_no_time));
  int type = 0;
  socklen_t size = sizeof type;
  if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) {
    return refused("the connector's descriptor is not a stream socket");
  }
  dialed.peer.length = sizeof dialed.peer.address;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&dialed.peer.address), &dialed.peer.length) !=
      0) {
    return refused("the connector's descriptor is not connected: " + words_of(errno));
  }
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
      ::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
    return refused("cannot configure the connector's descriptor: " + words_of(errno));
  }
  base::keep_alive(fd);
  return dialed;
}

Dialed call(const Connector& connector, const std::string& host, std::uint16_t port) {
  try {
    return judge(connector(host, port));
  } catch (const std::bad_alloc&) {
    return refused("no memory", Errc::exhausted);
  } catch (const std::system_error& error) {
    // The connector's own socket() may have found no descriptor.
    const std::error_condition why = error.code().default_error_condition();
    const bool system = why.category() == std::generic_category();
    return refused(one_line(error.what()), base::errc_of(system ? why.value() : 0));
  } catch (const std::exception& error) {
    return refused(one_line(error.what()));
  } catch (...) {
    if (!std::current_exception()) throw;  // pthread_exit(): who stops that ends the program
    return refused("the connector threw an exception that is not a std::exception");
  }
}

}  // namespace

std::shared_ptr<const Connector> shared(Connector connector) {
  if (!connector) {
    throw Error({Errc::misconfigured, "the connector is empty; pass a callable function"});
  }
  return std::make_shared<const Connector>(std::move(connector));
}

// Shared by the dialer and its thread, which may outlive it by any time.
struct Dialer::Shared {
  std::shared_ptr<const Connector> connector;
  std::string host;
  std::uint16_t port = 0;
  std::chrono::nanoseconds kept{};
  std::mutex mutex;
  std::condition_variable over;  // the answer was taken, or is of no use any more
  int answered = -1;             // the dialer's eventfd; -1 = nobody waits
  bool running = false;          // the connector is being called
  std::uint64_t answers = 0;
  std::optional<Dialed> answer;
  Instant answered_at{};

  void run();
  void tell(Dialed& dialed) noexcept;
  /// Under the mutex. @return what has to be closed after that was left, if nobody takes it
  std::optional<Dialed> end_answer() noexcept;
};

void Dialer::Shared::run() {
  // Whatever ends the call is told: an answer, and also the end of its thread.
  struct Call {
    Shared& shared;
    Dialed dialed{};
    ~Call() { shared.tell(dialed); }
  } made{.shared = *this};
  // Both are short enough to need no memory.
  made.dialed.error = "thread ended";
  try {
    made.dialed = call(*connector, host, port);
  } catch (const std::exception&) {
    made.dialed.error = "no memory";
    made.dialed.code = Errc::exhausted;
  }
}

// Its thread looks after the answer until somebody has it: a client that wants no connection any
// more is not polled, and would keep one open at the server for ever.
void Dialer::Shared::tell(Dialed& dialed) noexcept {
  std::optional<Dialed> late;  // closed after the mutex was left
  std::unique_lock lock(mutex);
  running = false;
  if (answered < 0) return;
  answer = std::move(dialed);
  answered_at = BootClock::now();
  static_cast<void>(::eventfd_write(answered, 1));
  const std::uint64_t mine = ++answers;
  const bool is_over = over.wait_for(lock, kept, [&] { return !answer || answers != mine; });
  if (!is_over) late = end_answer();
}

std::optional<Dialed> Dialer::Shared::end_answer() noexcept {
  eventfd_t ignored = 0;
  if (answer && answered >= 0) static_cast<void>(::eventfd_read(answered, &ignored));
  over.notify_all();
  return std::exchange(answer, std::nullopt);
}

Dialer::Dialer(std::shared_ptr<const Connector> connector, const base::Address& address,
               std::chrono::nanoseconds kept)
    : shared_(std::make_shared<Shared>()) {
  shared_->kept = kept;
  const bool local = !address.path.empty();
  shared_->connector = std::move(connector);
  shared_->host = local ? address.path : address.host;
  shared_->port = local ? std::uint16_t{0} : address.port;
}

Dialer::~Dialer() { forget(); }

void Dialer::forget() noexcept {
  // In a forked child the mutex may be held by a thread that does not exist there.
  if (generation_ != base::fork_generation()) return;
  std::optional<Dialed> late;  // closed after the mutex was left
  const std::lock_guard lock(shared_->mutex);
  late = shared_->end_answer();
  shared_->answered = -1;
  answered_.reset();
}

void Dialer::rest() noexcept {
  if (generation_ != base::fork_generation()) return;
  {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->running || shared_->answer) return;
  }
  forget();
}

void Dialer::know(std::string error, Errc code) {
  known_ = refused(std::move(error), code);
  if (answered_) static_cast<void>(::eventfd_write(answered_.get(), 1));
}

void Dialer::start() {
  known_.reset();
  if (!answered_) {
    answered_ = base::UniqueFd::open([] { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); });
    const int error = errno;
    if (!answered_) {
      return know("cannot create a descriptor for the connector: " + words_of(error),
                  base::errc_of(error));
    }
  }
  std::optional<Dialed> old;  // closed after the mutex was left
  const std::lock_guard lock(shared_->mutex);
  shared_->answered = answered_.get();
  if (shared_->running) return;
  // A machine that was suspended has not counted that time to the thread.
  if (shared_->answer && BootClock::now() - shared_->answered_at <= shared_->kept) return;
  old = shared_->end_answer();
  try {
    base::detached_thread([shared = shared_] { shared->run(); });
    shared_->running = true;
  } catch (const Error& error) {
    know(base::words_of(error), error.errc());
  } catch (const std::bad_alloc&) {
    know("not enough memory to call the connector", Errc::exhausted);
  }
}

std::optional<Dialed> Dialer::take() {
  std::optional<Dialed> taken = std::exchange(known_, std::nullopt);
  if (!taken) {
    const std::lock_guard lock(shared_->mutex);
    return shared_->end_answer();
  }
  eventfd_t ignored = 0;
  if (answered_) static_cast<void>(::eventfd_read(answered_.get(), &ignored));
  return taken;
}

}  // namespace mortise::remote
