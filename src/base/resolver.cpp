// SPDX-License-Identifier: MIT
// Literal addresses are read at once. Names are looked up on a detached thread, which shares
// nothing with its resolver but a small record, and may outlive it.
#include "base/resolver.hpp"

#include "base/quiet_thread.hpp"
#include "base/system_error.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <exception>
#include <mutex>
#include <system_error>
#include <utility>

namespace mortise::base {
namespace {

struct Question {
  std::string host;
  std::uint16_t port = 0;
  bool operator==(const Question&) const = default;
};

std::string words_of(int code, int error) {
  std::string why =
      code == EAI_SYSTEM ? std::generic_category().message(error) : gai_strerror(code);
  return "the name cannot be resolved: " + why;
}

bool is_localhost(const std::string& host) noexcept {
  return host == "localhost" || host.ends_with(".localhost");
}

// @return the code of getaddrinfo()
int look_up(const Question& question, int flags, Resolution& found) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int code =
      ::getaddrinfo(question.host.c_str(), std::to_string(question.port).c_str(), &hints, &list);
  if (code != 0) {
    const int error = errno;
    found.error = words_of(code, error);
    if (code == EAI_SYSTEM) found.code = errc_of(error);
    if (code == EAI_MEMORY) found.code = Errc::exhausted;
    return code;
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, &::freeaddrinfo);
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
    if (each->ai_addrlen > sizeof(sockaddr_storage)) continue;
    Endpoint& endpoint = found.endpoints.emplace_back();
    std::memcpy(&endpoint.address, each->ai_addr, each->ai_addrlen);
    endpoint.length = each->ai_addrlen;
  }
  return 0;
}

Resolution look_up_name(const Question& question) {
  Resolution found;
  // Spares hosts without IPv6 the questions for it. It does not count loopback addresses, so on a
  // host with, say, IPv6 only it would hide 127.0.0.1.
  look_up(question, is_localhost(question.host) ? 0 : AI_ADDRCONFIG, found);
  return found;
}

Resolution socket_path(const std::string& path) {
  Resolution found;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path || path.find('\0') != std::string::npos) {
    found.error = "the path of a unix socket has at most " +
                  std::to_string(sizeof address.sun_path - 1) + " bytes, and no NUL";
    return found;
  }
  path.copy(address.sun_path, path.size());
  Endpoint& endpoint = found.endpoints.emplace_back();
  std::memcpy(&endpoint.address, &address, sizeof address);
  endpoint.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return found;
}

}  // namespace

std::string Endpoint::text() const {
  if (address.ss_family == AF_UNIX) {
    sockaddr_un path{};
    std::memcpy(&path, &address, sizeof path);
    return {path.sun_path, ::strnlen(path.sun_path, sizeof path.sun_path)};
  }
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  // Numbers only, so no name server is asked.
  const int code =
      ::getnameinfo(reinterpret_cast<const sockaddr*>(&address), length, host.data(),
                    static_cast<socklen_t>(host.size()), port.data(),
                    static_cast<socklen_t>(port.size()), NI_NUMERICHOST | NI_NUMERICSERV);
  if (code != 0) return "an unknown address";
  const std::string number = host.data();
  const bool six = address.ss_family == AF_INET6;
  return (six ? "[" + number + "]" : number) + ":" + port.data();
}

// Shared by the resolver and its thread, which may outlive it by any time.
struct Resolver::Lookup {
  std::mutex mutex;
  int answered = -1;               // the resolver's eventfd; -1 = it rests, or is gone
  bool running = false;            // the thread exists, and will look at `wanted` again
  std::optional<Question> wanted;  // nothing: what is being looked up is of no use any more
  std::optional<Resolution> answer;

  void run() noexcept;
};

void Resolver::Lookup::run() noexcept {
  std::unique_lock lock(mutex);
  while (answered >= 0 && wanted) {
    const Question question = *wanted;
    lock.unlock();
    Resolution resolution;
    try {
      resolution = look_up_name(question);
    } catch (const std::exception&) {
      resolution.endpoints.clear();
      resolution.error = "no memory";  // short enough to need none
      resolution.code = Errc::exhausted;
    }
    lock.lock();
    // Another name was asked for meanwhile, or nobody is left: this answer is for no one.
    if (answered < 0 || wanted != question) continue;
    answer = std::move(resolution);
    wanted.reset();
    static_cast<void>(::eventfd_write(answered, 1));
  }
  running = false;
}

Resolver::Resolver() : lookup_(std::make_shared<Lookup>()) {}

Resolver::~Resolver() { rest(); }

void Resolver::rest() noexcept {
  // In a forked child the mutex may be held by a thread that does not exist there.
  if (generation_ != fork_generation()) return;
  {
    const std::lock_guard lock(lookup_->mutex);
    lookup_->answered = -1;
    lookup_->wanted.reset();
    lookup_->answer.reset();
  }
  known_.reset();
  answered_.reset();
}

// Forgets the last answer. @return false: there is no descriptor to be had
bool Resolver::prepare() {
  if (!answered_) {
    answered_ = UniqueFd::open([] { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); });
  }
  const int error = errno;
  known_.reset();
  const std::lock_guard lock(lookup_->mutex);
  lookup_->answered = answered_.get();
  lookup_->wanted.reset();
  lookup_->answer.reset();
  eventfd_t ignored = 0;
  if (answered_) static_cast<void>(::eventfd_read(answered_.get(), &ignored));
  if (!answered_) {
    known_ = {{}, "no descriptor: " + std::generic_category().message(error), errc_of(error)};
  }
  return static_cast<bool>(answered_);
}

void Resolver::know(Resolution resolution) {
  known_ = std::move(resolution);
  static_cast<void>(::eventfd_write(answered_.get(), 1));
}

void Resolver::start(const Address& address) {
  const Question question{address.host, address.port};
  {
    const std::lock_guard lock(lookup_->mutex);
    if (lookup_->wanted == question && address.path.empty()) return;
  }
  if (!prepare()) return;
  if (!address.path.empty()) {
    know(socket_path(address.path));
    return;
  }
  Resolution found;
  // A literal address needs no name server, and so no thread; any other error is final as well.
  if (look_up(question, AI_NUMERICHOST, found) != EAI_NONAME) {
    know(std::move(found));
    return;
  }
  const std::lock_guard lock(lookup_->mutex);
  lookup_->wanted = question;
  if (lookup_->running) return;  // it comes to this question after the one that it hangs in
  try {
    detached_thread([shared = lookup_] { shared->run(); });
    lookup_->running = true;
  } catch (const std::exception& error) {
    lookup_->wanted.reset();
    know({{}, std::string("no thread to resolve the name: ") + error.what(), Errc::exhausted});
  }
}

int Resolver::descriptor() const noexcept { return answered_.get(); }

std::optional<Resolution> Resolver::take() {
  std::optional<Resolution> taken = std::exchange(known_, std::nullopt);
  if (!taken) {
    const std::lock_guard lock(lookup_->mutex);
    taken = std::exchange(lookup_->answer, std::nullopt);
  }
  eventfd_t ignored = 0;
  if (taken && answered_) static_cast<void>(::eventfd_read(answered_.get(), &ignored));
  return taken;
}

}  // namespace mortise::base
