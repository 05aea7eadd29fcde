// SPDX-License-Identifier: MIT
// Reads what needs no name server, and passes on the rest.
#include "base/resolver.hpp"

#include "base/system_error.hpp"

#include <sys/eventfd.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

namespace mortise::base {
namespace {

Resolution socket_path(const std::string& path) {
  Resolution found;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path || path.find('\0') != std::string::npos) {
    found.error = "the path of a unix socket must have at most " +
                  std::to_string(sizeof address.sun_path - 1) + " bytes, without NUL";
    found.code = Errc::misconfigured;
    return found;
  }
  path.copy(address.sun_path, path.size());
  Endpoint& endpoint = found.endpoints.emplace_back();
  std::memcpy(&endpoint.address, &address, sizeof address);
  endpoint.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return found;
}

}  // namespace

Resolver::Resolver(std::shared_ptr<NameLookups> lookups) : question_(std::move(lookups)) {}

Resolver::~Resolver() { rest(); }

void Resolver::rest() noexcept {
  question_.withdraw();  // first: it is signalled through the descriptor
  known_.reset();
  answered_.reset();
}

// Forgets the last answer. @return false: there is no descriptor to be had
bool Resolver::prepare() {
  question_.withdraw();
  known_.reset();
  if (!answered_) {
    answered_ = UniqueFd::open([] { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); });
  }
  if (!answered_) {
    known_ = {{},
              "cannot create a file descriptor: " + std::generic_category().message(errno),
              errc_of(errno)};
    return false;
  }
  eventfd_t ignored = 0;
  static_cast<void>(::eventfd_read(answered_.get(), &ignored));
  return true;
}

void Resolver::know(Resolution resolution) {
  known_ = std::move(resolution);
  static_cast<void>(::eventfd_write(answered_.get(), 1));
}

void Resolver::start(const Address& address) {
  port_ = address.port;
  if (address.path.empty() && question_.awaits(address.host)) return;
  if (!prepare()) return;
  if (!address.path.empty()) {
    know(socket_path(address.path));
  } else if (std::optional<Resolution> number = NameLookups::read_number(address.host)) {
    know(*std::move(number));
  } else {
    question_.ask(address.host, answered_.get());
  }
}

int Resolver::descriptor() const noexcept { return answered_.get(); }

std::optional<Resolution> Resolver::take() {
  std::optional<Resolution> taken = std::exchange(known_, std::nullopt);
  if (!taken) taken = question_.take();
  if (!taken) return taken;
  eventfd_t ignored = 0;
  if (answered_) static_cast<void>(::eventfd_read(answered_.get(), &ignored));
  for (Endpoint& endpoint : taken->endpoints) endpoint.set_port(port_);
  return taken;
}

}  // namespace mortise::base
