// SPDX-License-Identifier: MIT
// The simulation's libpq: bytes, messages and the order of results (fe-protocol3.c, fe-exec.c).
#include "simulation/postgres/world_libpq.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

using simulation::postgres::Message;
using simulation::postgres::MessageReader;

namespace simulation::postgres {

std::unique_ptr<pg_result> error_result(std::string_view body, bool verbose) {
  auto result = std::make_unique<pg_result>();
  result->status = PGRES_FATAL_ERROR;
  MessageReader reader(body);
  for (char kind = reader.byte(); kind != '\0'; kind = reader.byte()) {
    result->fields[kind] = reader.text();
  }
  result->message = result->fields['S'] + ":  ";
  if (verbose) result->message += result->fields['C'] + ": ";
  result->message += result->fields['M'] + "\n";
  return result;
}

}  // namespace simulation::postgres

pg_conn::~pg_conn() {
  for (PGnotify* const each : notifications)
    std::free(each);  // NOLINT(cppcoreguidelines-no-malloc)
  if (socket >= 0) ::close(socket);
}

void pg_conn::fail(const std::string& words) {
  message = words;
  status = CONNECTION_BAD;
  if (socket >= 0) ::close(socket);
  socket = -1;
  out.clear();
}

int pg_conn::flush() {
  if (socket < 0) return -1;
  while (!out.empty() && !write_failed) {
    const ssize_t sent = ::send(socket, out.data(), out.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      out.erase(0, static_cast<std::size_t>(sent));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return 1;
    // The server's last words may be there still: who reads finds the end.
    write_failed = true;
    message = std::string("could not send data to server: ") + std::strerror(errno) + "\n";
  }
  if (!write_failed) return 0;
  out.clear();
  return read() ? 0 : -1;
}

bool pg_conn::read() {
  constexpr std::size_t at_once = 16'384;
  if (socket < 0) return false;
  bool got_some = false;
  for (;;) {
    std::array<char, at_once>
        bytes;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled below
    const ssize_t got = ::recv(socket, bytes.data(), bytes.size(), 0);
    if (got > 0) {
      in.append({bytes.data(), static_cast<std::size_t>(got)});
      got_some = true;
      if (static_cast<std::size_t>(got) < bytes.size()) return true;
      continue;
    }
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
    // The end is found again by whoever reads next.
    if (got_some) return true;
    if (got < 0 && errno != ECONNRESET && errno != EPIPE) {
      fail(std::string("could not receive data from server: ") + std::strerror(errno) + "\n");
    } else {
      fail(
          "server closed the connection unexpectedly\n"
          "\tThis probably means the server terminated abnormally\n"
          "\tbefore or while processing the request.\n");
    }
    return false;
  }
}

void pg_conn::process_queue() {
  if (async == Async::busy || async == Async::ready) return;
  if (commands.empty()) {
    async = Async::idle;
    return;
  }
  if (pipeline == PQ_PIPELINE_ABORTED && commands.front() != Command::sync) {
    result = std::make_unique<pg_result>();
    result->status = PGRES_PIPELINE_ABORTED;
    async = Async::ready;
    return;
  }
  async = Async::busy;
}

void pg_conn::append(Command command) {
  commands.push_back(command);
  if (pipeline == PQ_PIPELINE_ABORTED) {
    if (async == Async::idle || async == Async::between) process_queue();
  } else if (async == Async::idle) {
    async = Async::busy;
  }
}

void pg_conn::take_ready(char state) {
  transaction = state == 'I'   ? PQTRANS_IDLE
                : state == 'T' ? PQTRANS_INTRANS
                : state == 'E' ? PQTRANS_INERROR
                               : PQTRANS_UNKNOWN;
  if (pipeline == PQ_PIPELINE_OFF) {
    commands.clear();
    async = Async::idle;
    return;
  }
  result = std::make_unique<pg_result>();
  result->status = PGRES_PIPELINE_SYNC;
  pipeline = PQ_PIPELINE_ON;
  async = Async::ready;
}

void pg_conn::take_error(std::string_view body) {
  result = simulation::postgres::error_result(body, verbosity == PQERRORS_VERBOSE);
  message = result->message;
  if (pipeline != PQ_PIPELINE_OFF) pipeline = PQ_PIPELINE_ABORTED;
  async = Async::ready;
}

/// @return false: not yet, the results before it have to be fetched first
bool pg_conn::take(const Message& message_) {
  MessageReader reader(message_.body);
  switch (message_.kind) {
    case 'A': {
      const int from = reader.int32();
      const std::string_view channel = reader.text();
      const std::string_view payload = reader.text();
      // One piece of memory, which PQfreemem() frees.
      auto* const memory = static_cast<char*>(
          std::malloc(sizeof(PGnotify) + channel.size() + payload.size() + 2));  // NOLINT
      char* const name = memory + sizeof(PGnotify);
      char* const extra = name + channel.size() + 1;
      std::memcpy(name, channel.data(), channel.size());
      name[channel.size()] = '\0';
      std::memcpy(extra, payload.data(), payload.size());
      extra[payload.size()] = '\0';
      auto* const notify =
          new (memory) PGnotify{.relname = name, .be_pid = from, .extra = extra, .next = nullptr};
      notifications.push_back(notify);
      return true;
    }
    case 'N': {
      const auto notice =
          simulation::postgres::error_result(message_.body, verbosity == PQERRORS_VERBOSE);
      notice->status = PGRES_NONFATAL_ERROR;
      if (receiver != nullptr) receiver(receiver_context, notice.get());
      return true;
    }
    case 'S': return true;
    default: break;
  }
  if (async == Async::idle && message_.kind == 'E') {
    // Nobody has asked: the server's last words.
    const auto notice =
        simulation::postgres::error_result(message_.body, verbosity == PQERRORS_VERBOSE);
    message = notice->message;
    if (receiver != nullptr) receiver(receiver_context, notice.get());
    return true;
  }
  switch (message_.kind) {
    case 'C':
      if (!result) result = std::make_unique<pg_result>();
      result->tag = reader.text();
      async = Async::ready;
      break;
    case 'I':
      result = std::make_unique<pg_result>();
      result->status = PGRES_EMPTY_QUERY;
      async = Async::ready;
      break;
    case 'E': take_error(message_.body); break;
    case 'Z': take_ready(reader.byte()); break;
    case '1':
      if (!commands.empty() && commands.front() == Command::prepare) {
        result = std::make_unique<pg_result>();
        async = Async::ready;
      }
      break;
    case 'T':
      result = std::make_unique<pg_result>();
      result->status = PGRES_TUPLES_OK;
      result->columns = reader.int16();
      break;
    case 'D':
      if (result) {
        auto& row = result->rows.emplace_back();
        for (std::int16_t left = reader.int16(); left > 0; --left) {
          const std::int32_t size = reader.int32();
          auto& cell = row.emplace_back();
          cell.null = size < 0;
          if (size > 0) cell.bytes = reader.bytes(static_cast<std::size_t>(size));
        }
      }
      break;
    default: break;
  }
  return true;
}

void pg_conn::parse_input() {
  // A result that waits is fetched before the next one is looked at.
  while ((async == Async::busy || async == Async::idle) && in.whole(false)) {
    const Message next = *in.next(false);
    take(next);
  }
}

void pg_conn::wait_for_input() {
  while (async == Async::busy && socket >= 0) {
    const int left = flush();
    pollfd polled{.fd = socket, .events = POLLIN, .revents = 0};
    if (left == 1) polled.events = POLLIN | POLLOUT;
    if (left < 0) break;
    ::poll(&polled, 1, -1);
    if (!read()) break;
    parse_input();
  }
  parse_input();
  if (async != Async::busy) return;
  // It broke: that is the result.
  result = std::make_unique<pg_result>();
  result->status = PGRES_FATAL_ERROR;
  result->message = message;
  commands.clear();
  async = Async::ready;
}

std::unique_ptr<pg_result> pg_conn::next_result() {
  parse_input();
  if (async == Async::busy) wait_for_input();
  switch (async) {
    case Async::idle: return nullptr;
    case Async::between: process_queue(); return nullptr;
    default: break;
  }
  std::unique_ptr<pg_result> fetched = std::move(result);
  const bool synced = fetched->status == PGRES_PIPELINE_SYNC;
  // Only its own answer ends a sync; of simple queries ReadyForQuery is the end.
  if (pipeline != PQ_PIPELINE_OFF && !commands.empty() &&
      (synced || commands.front() != Command::sync)) {
    commands.pop_front();
  }
  if (pipeline == PQ_PIPELINE_OFF) {
    async = socket >= 0 ? Async::busy : Async::idle;
    return fetched;
  }
  async = Async::between;
  if (synced) process_queue();
  return fetched;
}
