// SPDX-License-Identifier: MIT
// The simulation's libpq: how a connection comes about (fe-connect.c). No encryption, no password.
#include "simulation/postgres/world_libpq.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

using simulation::postgres::MessageReader;
using simulation::postgres::MessageWriter;

namespace {

struct Address {
  sockaddr_storage bytes{};
  socklen_t size = 0;
};

Address parsed_address(const std::string& host, const std::string& port) {
  Address address;
  const auto number = htons(static_cast<std::uint16_t>(std::strtoul(port.c_str(), nullptr, 10)));
  if (host.starts_with('/')) {
    auto* const local = reinterpret_cast<sockaddr_un*>(&address.bytes);
    local->sun_family = AF_UNIX;
    const std::string path = host + "/.s.PGSQL." + port;
    std::strncpy(local->sun_path, path.c_str(), sizeof local->sun_path - 1);
    address.size = sizeof *local;
    return address;
  }
  auto* const four = reinterpret_cast<sockaddr_in*>(&address.bytes);
  if (::inet_pton(AF_INET, host == "localhost" ? "127.0.0.1" : host.c_str(), &four->sin_addr) ==
      1) {
    four->sin_family = AF_INET;
    four->sin_port = number;
    address.size = sizeof *four;
    return address;
  }
  auto* const six = reinterpret_cast<sockaddr_in6*>(&address.bytes);
  if (::inet_pton(AF_INET6, host.c_str(), &six->sin6_addr) == 1) {
    six->sin6_family = AF_INET6;
    six->sin6_port = number;
    address.size = sizeof *six;
  }
  return address;
}

}  // namespace

void pg_conn::start() {
  const auto value = [&](const char* key) {
    const auto found = keywords.find(key);
    return found == keywords.end() ? std::string() : found->second;
  };
  const std::string host = !value("hostaddr").empty() ? value("hostaddr") : value("host");
  const std::string port = value("port").empty() ? "5432" : value("port");
  if (port.find_first_not_of("0123456789") != std::string::npos) {
    message = "invalid integer value \"" + port + "\" for connection option \"port\"\n";
    return;
  }
  where = host.starts_with('/')
              ? "connection to server on socket \"" + host + "/.s.PGSQL." + port + "\" failed: "
              : "connection to server at \"" + host + "\", port " + port + " failed: ";
  const Address address = parsed_address(host, port);
  if (address.size == 0) {
    message = "could not translate host name \"" + host + "\" to address\n";
    return;
  }
  socket = ::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) {
    message = std::string("could not create socket: ") + std::strerror(errno) + "\n";
    return;
  }
  const int on = 1;
  if (!host.starts_with('/')) ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const auto* const to = reinterpret_cast<const sockaddr*>(&address.bytes);
  if (::connect(socket, to, address.size) != 0 && errno != EINPROGRESS) {
    fail(where + std::strerror(errno) + "\n");
    return;
  }
  status = CONNECTION_STARTED;
}

PostgresPollingStatusType pg_conn::refuse(const std::string& words) {
  fail(where + words);
  return PGRES_POLLING_FAILED;
}

PostgresPollingStatusType pg_conn::poll() {
  constexpr std::int32_t protocol = 196'608;
  switch (status) {
    case CONNECTION_OK: return PGRES_POLLING_OK;
    case CONNECTION_STARTED: {
      int error = 0;
      socklen_t size = sizeof error;
      if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0) {
        return refuse(std::string(std::strerror(error)) + "\n");
      }
      MessageWriter writer(out, '\0');
      writer.int32(protocol);
      for (const char* const key : {"user", "application_name"}) {
        if (keywords.contains(key)) writer.text(key).text(keywords[key]);
      }
      if (keywords.contains("dbname")) writer.text("database").text(keywords["dbname"]);
      writer.byte('\0');
      status = CONNECTION_MADE;
      break;
    }
    case CONNECTION_MADE:
    case CONNECTION_AWAITING_RESPONSE: break;
    default: return PGRES_POLLING_FAILED;
  }
  if (status == CONNECTION_MADE) {
    const int left = flush();
    if (left == 1) return PGRES_POLLING_WRITING;
    if (left < 0) return refuse(message);
    status = CONNECTION_AWAITING_RESPONSE;
    return PGRES_POLLING_READING;
  }
  const bool stands = read();
  const PostgresPollingStatusType progress = take_greeting();
  if (stands || progress != PGRES_POLLING_READING) return progress;
  return refuse(message);
}

PostgresPollingStatusType pg_conn::take_greeting() {
  while (in.whole(false)) {
    const auto next = *in.next(false);
    MessageReader reader(next.body);
    switch (next.kind) {
      case 'R':
        if (reader.int32() != 0) {
          return refuse("the simulation's libpq knows no passwords\n");
        }
        break;
      case 'K': pid = reader.int32(); break;
      case 'E':
        return refuse(
            simulation::postgres::error_result(next.body, verbosity == PQERRORS_VERBOSE)->message);
      case 'Z':
        status = CONNECTION_OK;
        message.clear();
        return PGRES_POLLING_OK;
      default: break;
    }
  }
  return PGRES_POLLING_READING;
}
