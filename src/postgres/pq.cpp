// SPDX-License-Identifier: MIT
// libpq without blocking: what is to be sent, flushed and read is said by the socket.
#include "postgres/pq.hpp"

#include "base/span.hpp"

#include <libpq-fe.h>

#include <endian.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>

namespace mortise::postgres {
namespace {

constexpr int binary = 1;

/// The words of a failed connection: "... failed: FATAL:  28P01: password authentication failed",
/// with the state in them because the messages are verbose; else there is no way to learn it.
PqError error_of(const PGconn* connection) {
  constexpr std::size_t state_size = 5;
  PqError error{.at_connect = true};
  const char* const text = connection != nullptr ? PQerrorMessage(connection) : "out of memory";
  // The first line that names a state is the server's; further lines tell of its source code.
  std::string_view words(text);
  for (std::size_t at = words.find(":  "); at != std::string_view::npos;
       at = words.find(":  ", at + 1)) {
    const std::string_view state = words.substr(at + 3, state_size);
    const bool fits =
        state.size() == state_size && std::all_of(state.begin(), state.end(), [](char c) {
          return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
        });
    if (!fits || words.substr(at + 3 + state_size, 2) != ": ") continue;
    error.state = state;
    words.remove_prefix(at + 3 + state_size + 2);
    break;
  }
  error.words = words.substr(0, words.find('\n'));
  return error;
}

/// Whether the server has just answered that it speaks TLS, or that it does not. Until the client
/// has read the answer, nothing else comes.
bool has_answered_for_tls(const PGconn* connection) {
  char answer = '\0';
  return PQstatus(connection) == CONNECTION_SSL_STARTUP &&
         ::recv(PQsocket(connection), &answer, 1, MSG_PEEK | MSG_DONTWAIT) == 1 &&
         (answer == 'S' || answer == 'N');
}

/// @return whether the other side has neither closed the connection nor broken it.
bool stands_open(int socket) {
  char byte = '\0';
  const ssize_t got = ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK));
}

/// Made before PQconnectPoll(), to know what its failure means. libpq sends nothing between that
/// answer and its own look at sslmode and the files for TLS. So a failure right then, with a
/// connection that stands, is a refusal of libpq's. A copy of the socket tells, since libpq has
/// closed its own by then.
class TlsWitness {
 public:
  explicit TlsWitness(const PGconn* connection) {
    if (!has_answered_for_tls(connection)) return;
    constexpr int not_a_standard_stream = 3;
    copy_ = base::UniqueFd::open(
        [&] { return ::fcntl(PQsocket(connection), F_DUPFD_CLOEXEC, not_a_standard_stream); });
  }
  /// @return why libpq has given up.
  [[nodiscard]] PqError::Refusal refusal(const PGconn* connection) const {
    if (PQconnectionNeedsPassword(connection) != 0) return PqError::Refusal::password;
    return copy_ && stands_open(copy_.get()) ? PqError::Refusal::settings : PqError::Refusal::none;
  }

 private:
  base::UniqueFd copy_;
};

/// The library never prints; libpq would, to stderr.
void ignore_notice(void* /*context*/, const PGresult* /*notice*/) {}

/// The wait of a commit for its standbys was ended by pg_cancel_backend() or a shutdown; the commit
/// is a success all the same (src/backend/replication/syncrep.c). The words may be in any language,
/// and the state is that of any warning: the function's name has been the same since 9.1.
bool ends_wait_for_standby(const PGresult* notice) {
  const char* const function = PQresultErrorField(notice, PG_DIAG_SOURCE_FUNCTION);
  if (function != nullptr) return std::string_view(function) == "SyncRepWaitForLSN";
  // Somebody in between has left it out.
  const char* const words = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
  return words != nullptr &&
         std::string_view(words).find("synchronous replication") != std::string_view::npos;
}

}  // namespace

std::int64_t integer_of(std::string_view bytes) noexcept {
  std::array<char, sizeof(std::uint64_t)> last{};
  bytes.copy(last.data() + (last.size() - bytes.size()), bytes.size());
  std::uint64_t ordered = 0;
  std::memcpy(&ordered, last.data(), sizeof ordered);
  return static_cast<std::int64_t>(be64toh(ordered));
}

Result::Result(pg_result* result) : result_(result) {
  switch (PQresultStatus(result)) {
    case PGRES_TUPLES_OK:
    case PGRES_COMMAND_OK:
    case PGRES_EMPTY_QUERY: kind_ = Kind::rows; break;
    case PGRES_PIPELINE_SYNC: kind_ = Kind::synced; break;
    case PGRES_PIPELINE_ABORTED: kind_ = Kind::aborted; break;
    default: kind_ = Kind::error; break;
  }
}

void Result::Clear::operator()(pg_result* result) const noexcept { PQclear(result); }

int Result::columns() const noexcept { return PQnfields(result_.get()); }

int Result::rows() const noexcept { return PQntuples(result_.get()); }

std::optional<std::string_view> Result::text(int column) const noexcept {
  if (rows() != 1 || column >= PQnfields(result_.get())) return std::nullopt;
  if (PQgetisnull(result_.get(), 0, column) != 0) return std::nullopt;
  return std::string_view(PQgetvalue(result_.get(), 0, column),
                          static_cast<std::size_t>(PQgetlength(result_.get(), 0, column)));
}

std::optional<std::int64_t> Result::integer(int column) const noexcept {
  const std::optional<std::string_view> bytes = text(column);
  if (!bytes || (bytes->size() != 4 && bytes->size() != 8)) return std::nullopt;
  const std::int64_t value = integer_of(*bytes);
  return bytes->size() == 4 ? static_cast<std::int32_t>(value) : value;
}

std::optional<bool> Result::flag(int column) const noexcept {
  const std::optional<std::string_view> bytes = text(column);
  if (!bytes || bytes->size() != 1) return std::nullopt;
  return bytes->front() != '\0';
}

PqError Result::error() const {
  const char* const state = PQresultErrorField(result_.get(), PG_DIAG_SQLSTATE);
  const char* const words = PQresultErrorField(result_.get(), PG_DIAG_MESSAGE_PRIMARY);
  PqError error;
  if (state != nullptr) error.state = state;
  const std::string_view all = words != nullptr ? words : PQresultErrorMessage(result_.get());
  error.words = all.substr(0, all.find('\n'));
  return error;
}

Pq::Pq(const Keywords& keywords, base::UniqueFd connected) {
  if (connected) {
    adopt(keywords, connected);
  } else {
    const KeywordList list(keywords);
    descriptor_ = base::BorrowedFd::open([&] {
      connection_ = PQconnectStartParams(list.keys.data(), list.values.data(), 0);
      return connection_ != nullptr ? PQsocket(connection_) : -1;
    });
  }
  if (connection_ == nullptr) return;
  PQsetErrorVerbosity(connection_, PQERRORS_VERBOSE);
  PQsetNoticeReceiver(connection_, &Pq::note, this);
}

// libpq sends no byte before it is asked whether it is connected, and knows its socket by the
// number: until then that becomes the other one's. See Lure.
void Pq::adopt(Keywords keywords, const base::UniqueFd& connected) {
  lure_.emplace();
  trouble_ = lure_->trouble();
  if (!trouble_.empty()) return;
  keywords.emplace_back("hostaddr", lure_->number());
  keywords.emplace_back("port", lure_->port());
  const KeywordList list(keywords);
  descriptor_ = base::BorrowedFd::open([&] {
    connection_ = PQconnectStartParams(list.keys.data(), list.values.data(), 0);
    const int number = connection_ != nullptr ? PQsocket(connection_) : -1;
    if (number < 0) return -1;
    // One that has gone on to speak has spoken to the lure.
    if (PQstatus(connection_) != CONNECTION_STARTED) {
      trouble_ = "libpq did not start to connect";
    } else if (::dup3(connected.get(), number, O_CLOEXEC) < 0) {
      trouble_ = "cannot create a descriptor: " + std::generic_category().message(errno);
    }
    return trouble_.empty() ? number : -1;
  });
  if (trouble_.empty() && connection_ != nullptr) {
    adopted_ = base::identity_of(PQsocket(connection_));
  } else {
    PQfinish(std::exchange(connection_, nullptr));
  }
}

void Pq::note(void* itself, const pg_result* notice) {
  if (ends_wait_for_standby(notice)) static_cast<Pq*>(itself)->in_doubt_ = true;
}

Pq::~Pq() {
  descriptor_ = {};
  PQfinish(connection_);
}

Pq::Progress Pq::advance() {
  if (connection_ == nullptr || PQstatus(connection_) == CONNECTION_BAD) return Progress::failed;
  PostgresPollingStatusType status = PGRES_POLLING_FAILED;
  const TlsWitness witness(connection_);
  // It may have been refused with one socket (no encryption, say) and try another.
  descriptor_ = base::BorrowedFd::open([&] {
    status = PQconnectPoll(connection_);
    return PQsocket(connection_);
  });
  if (status == PGRES_POLLING_FAILED) refusal_ = witness.refusal(connection_);
  // What was refused it tries once more, with TLS or without, by a socket that leads to the lure.
  if (lure_ && base::identity_of(PQsocket(connection_)) != adopted_) return Progress::failed;
  switch (status) {
    case PGRES_POLLING_READING: return Progress::reading;
    case PGRES_POLLING_WRITING: return Progress::writing;
    case PGRES_POLLING_OK: break;
    default: return Progress::failed;
  }
  lure_.reset();
  const bool ready = PQsetnonblocking(connection_, 1) == 0 && PQenterPipelineMode(connection_) == 1;
  return ready ? Progress::connected : Progress::failed;
}

PqError Pq::error() const {
  if (!trouble_.empty()) return {.words = trouble_};
  PqError error = error_of(connection_);
  error.refusal = refusal_;
  // Nobody has been at that address.
  if (lure_) lure_->hide_in(error.words);
  return error;
}

int Pq::descriptor() const noexcept { return connection_ != nullptr ? PQsocket(connection_) : -1; }

int Pq::backend_pid() const noexcept { return PQbackendPID(connection_); }

/// The arguments as libpq wants them; they must live as long.
struct ArgumentList {
  explicit ArgumentList(const Arguments& from) : count(static_cast<int>(from.count_)) {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < from.count_; ++i) {
      const Arguments::Value& value = from.values_[i];
      types[i] = value.type;
      values[i] = from.data_.data() + begin;
      lengths[i] = static_cast<int>(value.end - begin);
      begin = value.end;
    }
  }
  int count;
  std::array<Oid, 7> types{};
  std::array<const char*, 7> values{};
  std::array<int, 7> lengths{};
  std::array<int, 7> formats{binary, binary, binary, binary, binary, binary, binary};
};

bool Pq::prepare(const char* name, const std::string& text, const Arguments& like) {
  const ArgumentList list(like);
  return PQsendPrepare(connection_, name, text.c_str(), list.count, list.types.data()) == 1;
}

bool Pq::run(const std::string& text, const Arguments& arguments) {
  const ArgumentList list(arguments);
  return PQsendQueryParams(connection_, text.c_str(), list.count, list.types.data(),
                           list.values.data(), list.lengths.data(), list.formats.data(),
                           binary) == 1;
}

bool Pq::run_prepared(const char* name, const Arguments& arguments) {
  const ArgumentList list(arguments);
  return PQsendQueryPrepared(connection_, name, list.count, list.values.data(), list.lengths.data(),
                             list.formats.data(), binary) == 1;
}

bool Pq::end_transaction() { return PQpipelineSync(connection_) == 1; }

bool Pq::flush() {
  const int left = PQflush(connection_);
  blocked_ = left == 1;
  return left >= 0;
}

bool Pq::receive() {
  return PQconsumeInput(connection_) == 1 && PQstatus(connection_) == CONNECTION_OK;
}

std::optional<Result> Pq::next() {
  // A null ends the results of one statement; at the second in a row nothing is left.
  for (int nulls = 0; nulls < 2; ++nulls) {
    if (PQisBusy(connection_) != 0) return std::nullopt;
    if (PGresult* const result = PQgetResult(connection_)) return Result(result);
  }
  return std::nullopt;
}

std::optional<std::string> Pq::notification() {
  PGnotify* const notify = PQnotifies(connection_);
  if (notify == nullptr) return std::nullopt;
  std::string payload = notify->extra;
  PQfreemem(notify);
  return payload;
}

bool Pq::stands() {
  char byte = 0;
  const ssize_t got = ::recv(PQsocket(connection_), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  // An end, or something that nobody asked for: the server's last words, a notice.
  return got > 0 && receive();
}

bool Pq::arrived() const noexcept {
  // A unix socket has no other side that could go without a word.
  int domain = AF_UNIX;
  socklen_t size = sizeof domain;
  ::getsockopt(descriptor(), SOL_SOCKET, SO_DOMAIN, &domain, &size);
  if (domain == AF_UNIX) return true;
  int unacknowledged = 0;
  return !blocked_ &&
         (::ioctl(descriptor(), SIOCOUTQ, &unacknowledged) != 0 || unacknowledged == 0);
}

void Pq::abandon() const noexcept {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  if (descriptor() >= 0) {
    ::setsockopt(descriptor(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
}

UserConnection::State UserConnection::state() const noexcept {
  if (connection_ == nullptr || PQpipelineStatus(connection_) != PQ_PIPELINE_OFF) {
    return State::unusable;
  }
  switch (PQtransactionStatus(connection_)) {
    case PQTRANS_IDLE: return State::idle;
    case PQTRANS_INTRANS: return State::in_transaction;
    case PQTRANS_INERROR: return State::failed;
    default: return State::unusable;
  }
}

Result UserConnection::run(const std::string& text, const Arguments& arguments) {
  const ArgumentList list(arguments);
  return Result(PQexecParams(connection_, text.c_str(), list.count, list.types.data(),
                             list.values.data(), list.lengths.data(), list.formats.data(), binary));
}

std::optional<PqError> UserConnection::commit() {
  const Result result(PQexec(connection_, "COMMIT"));
  if (result.kind() == Result::Kind::rows) return std::nullopt;
  PqError error = result.error();
  // A pooler that lost the server, too, ends the connection with words and a state of its own.
  if (PQstatus(connection_) == CONNECTION_BAD) error.state.clear();
  return error;
}

std::optional<PqError> run_script(const Keywords& keywords, const std::string& text,
                                  std::chrono::milliseconds connect_time) {
  const KeywordList list(keywords);
  const auto finish = [](PGconn* connection) { PQfinish(connection); };
  const std::unique_ptr<PGconn, decltype(finish)> connection(
      PQconnectStartParams(list.keys.data(), list.values.data(), 0), finish);
  if (!connection) return error_of(nullptr);
  PQsetErrorVerbosity(connection.get(), PQERRORS_VERBOSE);
  PQsetNoticeReceiver(connection.get(), &ignore_notice, nullptr);
  const auto end = std::chrono::steady_clock::now() + base::bounded_wait(connect_time);
  PqError::Refusal refusal = PqError::Refusal::none;
  for (auto status = PGRES_POLLING_WRITING; status != PGRES_POLLING_OK;) {
    if (PQstatus(connection.get()) == CONNECTION_BAD || status == PGRES_POLLING_FAILED) {
      PqError error = error_of(connection.get());
      error.refusal = refusal;
      return error;
    }
    const auto left = end - std::chrono::steady_clock::now();
    if (left.count() <= 0) return PqError{.words = "no connection in time"};
    const short what = status == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    pollfd polled{PQsocket(connection.get()), what, 0};
    ::poll(&polled, 1, base::poll_time(left));
    const TlsWitness witness(connection.get());
    status = PQconnectPoll(connection.get());
    if (status == PGRES_POLLING_FAILED) refusal = witness.refusal(connection.get());
  }
  const Result result(PQexec(connection.get(), text.c_str()));
  if (result.kind() == Result::Kind::rows) return std::nullopt;
  return result.error();
}

}  // namespace mortise::postgres
