// SPDX-License-Identifier: MIT
// The only file that knows OpenSSL. Its bytes go through the plain stream, which never raises
// SIGPIPE, rather than through a socket BIO, which does.
#include "remote/stream/tls.hpp"

#include "base/changing_file.hpp"
#include "base/error_words.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <new>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace mortise::remote {
namespace {

struct Destroy {
  void operator()(SSL_CTX* context) const noexcept { ::SSL_CTX_free(context); }
  void operator()(SSL* ssl) const noexcept { ::SSL_free(ssl); }
};
using ContextPointer = std::unique_ptr<SSL_CTX, Destroy>;
using SslPointer = std::unique_ptr<SSL, Destroy>;

std::string reason_of(unsigned long error) {
  if (ERR_SYSTEM_ERROR(error)) return std::generic_category().message(ERR_GET_REASON(error));
  const char* const words = ::ERR_reason_error_string(error);
  return words != nullptr ? words : "error " + std::to_string(error);
}

/// What OpenSSL reads from and writes to.
struct Transport {
  std::unique_ptr<Stream> plain;
  Stream::Status status = Stream::Status::done;  ///< of the last call
  bool heard = false;                            ///< the server has sent bytes
  bool progress = false;                         ///< see `Stream::take_progress()`
  bool plain_text = false;                       ///< its first bytes are text
};

Transport& transport_of(BIO* bio) { return *static_cast<Transport*>(::BIO_get_data(bio)); }

int bio_read(BIO* bio, char* into, std::size_t size, std::size_t* bytes) {
  Transport& transport = transport_of(bio);
  const Stream::Moved moved = transport.plain->read({into, size});
  transport.status = moved.status;
  if (moved.bytes > 0) transport.progress = true;
  if (moved.bytes > 0 && !transport.heard) {
    transport.heard = true;
    // The first byte of TLS says which record it is, and none of them is a visible character.
    transport.plain_text = *into > ' ' && *into < 0x7f;
  }
  *bytes = moved.bytes;
  BIO_clear_retry_flags(bio);
  if (moved.status == Stream::Status::again) BIO_set_retry_read(bio);
  return moved.status == Stream::Status::done ? 1 : 0;
}

int bio_write(BIO* bio, const char* from, std::size_t size, std::size_t* bytes) {
  Transport& transport = transport_of(bio);
  const Stream::Moved moved = transport.plain->write({from, size});
  transport.status = moved.status;
  *bytes = moved.bytes;
  BIO_clear_retry_flags(bio);
  if (moved.status == Stream::Status::again) BIO_set_retry_write(bio);
  return moved.status == Stream::Status::done ? 1 : 0;
}

long bio_control(BIO* /*bio*/, int command, long /*number*/, void* /*pointer*/) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;  // nothing is ever held back
}

// Never freed: streams need it as long as there are any. A lock around the first time might be left
// locked in a forked child; so two threads may make one each, and one of them stays.
const BIO_METHOD* bio_method() {
  static constinit std::atomic<const BIO_METHOD*> method{nullptr};
  const BIO_METHOD* known = method.load();
  if (known != nullptr) return known;
  BIO_METHOD* const made = ::BIO_meth_new(::BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "mortise");
  if (made == nullptr) throw std::bad_alloc();
  ::BIO_meth_set_read_ex(made, &bio_read);
  ::BIO_meth_set_write_ex(made, &bio_write);
  ::BIO_meth_set_ctrl(made, &bio_control);
  if (method.compare_exchange_strong(known, made)) return made;
  ::BIO_meth_free(made);
  return known;
}

/// @return whether the server says by this that it does not take us for a friend.
bool refuses_us(int reason) noexcept {
  switch (reason) {
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:  // what TLS 1.2 says for want of a certificate
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED: return true;
    default: return false;
  }
}

class TlsStream final : public Stream {
 public:
  /// @param context null = there is none, for that reason: the stream fails
  /// @param name what the certificate has to be for; nothing = it is not verified
  TlsStream(SSL_CTX* context, const Failure& why, std::unique_ptr<Stream> plain,
            const std::string& name, bool verify);
  ~TlsStream() override;
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  [[nodiscard]] int descriptor() const noexcept override { return transport_.plain->descriptor(); }
  [[nodiscard]] Status advance() override;
  [[nodiscard]] short interest() const noexcept override {
    return interest_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool shakes_hands() const noexcept override {
    const std::lock_guard lock(mutex_);
    return connected_ && !encrypted_ && !ended_;
  }
  [[nodiscard]] bool take_progress() noexcept override {
    const std::lock_guard lock(mutex_);
    return std::exchange(transport_.progress, false);
  }
  [[nodiscard]] Moved read(std::span<char> into) override;
  [[nodiscard]] Moved write(std::span<const char> from) override;
  [[nodiscard]] Failure failure() const override;
  [[nodiscard]] const Endpoint& endpoint() const noexcept override {
    return transport_.plain->endpoint();
  }

 private:
  void expect(std::string name, bool verify);
  void prepare_call() noexcept;
  Status outcome(int result, short& wanted);
  [[nodiscard]] Failure explain(unsigned long error) const;
  Status give_up(Status status, Failure why);
  void want(short events) noexcept { interest_.store(events, std::memory_order_relaxed); }

  Transport transport_;
  SslPointer ssl_;
  const std::uint32_t generation_ = base::fork_generation();
  std::atomic<short> interest_;
  mutable std::mutex mutex_;  // never held while anybody sleeps: no call below blocks
  bool connected_ = false;    // the plain stream is
  bool encrypted_ = false;
  bool mute_ = false;            // nothing can be written any more
  std::optional<Status> ended_;  // nothing can be done any more
  Failure failure_;
};

TlsStream::TlsStream(SSL_CTX* context, const Failure& why, std::unique_ptr<Stream> plain,
                     const std::string& name, bool verify)
    : transport_{std::move(plain)},
      ssl_(context != nullptr ? ::SSL_new(context) : nullptr),
      interest_(transport_.plain->interest()) {
  if (context == nullptr) {
    give_up(Status::failed, why);
    return;
  }
  BIO* const bio = ssl_ ? ::BIO_new(bio_method()) : nullptr;
  if (bio == nullptr) throw std::bad_alloc();
  ::BIO_set_data(bio, &transport_);
  ::BIO_set_init(bio, 1);
  ::SSL_set_bio(ssl_.get(), bio, bio);
  ::SSL_set_connect_state(ssl_.get());
  expect(name, verify);
}

// Sets the host that the certificate must name. A host that cannot be set ends the connection: the
// certificate would be checked less than the user asked for. The name must stand in a subject
// alternative name. OpenSSL would also accept the common name of a certificate without one, which
// RFC 9525 forbids: an authority does not check a common name as it checks a host.
void TlsStream::expect(std::string name, bool verify) {
  if (name.ends_with('.')) name.pop_back();  // which only the resolver wants to know
  // The interface of a link-local address ("fe80::1%eth0") is our side's matter.
  const std::string number = name.substr(0, name.find('%'));
  std::array<unsigned char, sizeof(in6_addr)> ignored{};
  const bool numeric = ::inet_pton(AF_INET, number.c_str(), ignored.data()) == 1 ||
                       ::inet_pton(AF_INET6, number.c_str(), ignored.data()) == 1;
  X509_VERIFY_PARAM* const checks = ::SSL_get0_param(ssl_.get());
  bool set = false;
  if (numeric) {
    set = ::X509_VERIFY_PARAM_set1_ip_asc(checks, number.c_str()) == 1;
  } else if (!name.empty()) {
    ::X509_VERIFY_PARAM_set_hostflags(
        checks, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    set = ::X509_VERIFY_PARAM_set1_host(checks, name.data(), name.size()) == 1 &&
          ::SSL_ctrl(ssl_.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                     name.data()) == 1;
  }
  if (verify && !set) {
    give_up(
        Status::failed,
        {Errc::denied, "TLS: no name to check the server's certificate against; set server-name"});
  }
}

TlsStream::~TlsStream() {
  if (generation_ != base::fork_generation()) {
    // In a forked child a call of another thread may be cut in half for ever, OpenSSL's own locks
    // with it, so the object is left where it is.
    static_cast<void>(ssl_.release());
    return;
  }
  prepare_call();
  if (encrypted_ && !mute_ && !ended_) static_cast<void>(::SSL_shutdown(ssl_.get()));
  ::ERR_clear_error();
}

// OpenSSL judges a call by the errors of this thread, which may be an older one's.
void TlsStream::prepare_call() noexcept {
  ::ERR_clear_error();
  transport_.status = Status::done;
}

Stream::Status TlsStream::give_up(Status status, Failure why) {
  failure_ = std::move(why);
  ended_ = status;
  want(0);
  return status;
}

Stream::Status TlsStream::advance() {
  const std::lock_guard lock(mutex_);
  if (ended_) return *ended_;
  if (encrypted_) return Status::done;
  if (!connected_) {
    const Status status = transport_.plain->advance();
    want(transport_.plain->interest());
    if (status == Status::again) return status;
    if (status != Status::done) return give_up(status, transport_.plain->failure());
    connected_ = transport_.progress = true;
  }
  prepare_call();
  const int result = ::SSL_do_handshake(ssl_.get());
  short wanted = 0;
  encrypted_ = result == 1;
  const Status status = encrypted_ ? Status::done : outcome(result, wanted);
  want(wanted);
  return status;
}

Stream::Moved TlsStream::read(std::span<char> into) {
  const std::lock_guard lock(mutex_);
  if (ended_) return {*ended_};
  if (into.empty()) return {Status::again};
  std::size_t total = 0;
  Status status = Status::again;
  short wanted = 0;
  // As with a socket, what has arrived is taken at once: nobody polls for what is in here already.
  do {
    std::size_t bytes = 0;
    prepare_call();
    const int result = ::SSL_read_ex(ssl_.get(), into.data() + total, into.size() - total, &bytes);
    total += bytes;
    status = result == 1 ? Status::done : outcome(result, wanted);
  } while (status == Status::done && total < into.size() && ::SSL_has_pending(ssl_.get()) == 1);
  want(static_cast<short>(wanted & POLLOUT));
  // A failure behind the bytes is told by the next call.
  return total > 0 ? Moved{Status::done, total} : Moved{status};
}

Stream::Moved TlsStream::write(std::span<const char> from) {
  const std::lock_guard lock(mutex_);
  if (ended_) return {*ended_};
  if (mute_) return {Status::failed};
  std::size_t bytes = 0;
  prepare_call();
  const int result = ::SSL_write_ex(ssl_.get(), from.data(), from.size(), &bytes);
  if (result == 1) return {Status::done, bytes};
  // What the server has said before it closed is still to be read: replies, or why it did so.
  mute_ = transport_.status == Status::failed;
  if (mute_) {
    failure_ = transport_.plain->failure();
    return {Status::failed};
  }
  short wanted = 0;
  return {outcome(result, wanted)};
}

Failure TlsStream::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

// What a call came to that did not succeed.
Stream::Status TlsStream::outcome(int result, short& wanted) {
  const int code = ::SSL_get_error(ssl_.get(), result);
  const unsigned long error = ::ERR_peek_error();
  const Status transport = transport_.status;
  if (code == SSL_ERROR_WANT_READ || code == SSL_ERROR_WANT_WRITE) {
    wanted = code == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
    return Status::again;
  }
  if (code == SSL_ERROR_ZERO_RETURN) {
    return give_up(Status::closed, {Errc::unavailable, "the server closed the connection"});
  }
  Failure why = explain(error);
  ::ERR_clear_error();
  if (why.code == Errc::denied) return give_up(Status::failed, std::move(why));
  if (transport == Status::closed || transport == Status::failed) {
    why = transport_.plain->failure();
    if (!encrypted_) why.text += " during the TLS handshake";
    if (!encrypted_ && !transport_.heard) why.text += no_port_for_tls;
    return give_up(transport, std::move(why));
  }
  return give_up(Status::failed, std::move(why));
}

Failure TlsStream::explain(unsigned long error) const {
  const int reason = ERR_GET_LIB(error) == ERR_LIB_SSL ? ERR_GET_REASON(error) : 0;
  if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED) {
    const long verdict = ::SSL_get_verify_result(ssl_.get());
    return {Errc::denied, std::string("TLS: the server's certificate is not trusted: ") +
                              ::X509_verify_cert_error_string(verdict) +
                              "; check the host name, and the authorities in ca=FILE"};
  }
  if (refuses_us(reason)) {
    return {Errc::denied,
            "TLS: the server rejected the client or its certificate: " + reason_of(error)};
  }
  if (reason == SSL_R_WRONG_VERSION_NUMBER) {
    // Damage on the way looks alike, unless the server began with text.
    return {transport_.plain_text ? Errc::misconfigured : Errc::unavailable,
            "TLS: the server does not speak TLS; check the port, or use a URL without TLS"};
  }
  return {Errc::unavailable, "TLS: " + reason_of(error)};
}

}  // namespace

namespace {

[[noreturn]] void refuse(const std::string& who, const char* what, const std::string& file,
                         bool read_before) {
  const unsigned long error = ::ERR_peek_error();
  const std::string why = reason_of(error);
  const int number = ERR_SYSTEM_ERROR(error) ? ERR_GET_REASON(error) : 0;
  ::ERR_clear_error();
  throw Error(Failure(base::meaning_of_unusable_file(read_before, number),
                      who + ": TLS: cannot load " + what + " '" + file + "': " + why));
}

void trust(SSL_CTX* context, const TlsSettings& given, const std::string& who, bool read_before) {
  if (given.ca_file.empty()) {
    ::SSL_CTX_set_default_verify_paths(context);
  } else if (::SSL_CTX_load_verify_file(context, given.ca_file.c_str()) != 1) {
    refuse(who, "the CA certificate", given.ca_file, read_before);
  }
}

void show(SSL_CTX* context, const TlsSettings& given, const std::string& who, bool read_before) {
  if (given.certificate.empty() != given.key.empty()) {
    throw Error(Failure(Errc::misconfigured, who + ": TLS: cert and key must be given together"));
  }
  if (given.certificate.empty()) return;
  if (::SSL_CTX_use_certificate_chain_file(context, given.certificate.c_str()) != 1) {
    refuse(who, "the client certificate", given.certificate, read_before);
  }
  if (::SSL_CTX_use_PrivateKey_file(context, given.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      ::SSL_CTX_check_private_key(context) != 1) {
    refuse(who, "the client key", given.key, read_before);
  }
}

ContextPointer make_context(const TlsSettings& given, const std::string& who, bool read_before) {
  ContextPointer made(::SSL_CTX_new(::TLS_client_method()));
  if (made == nullptr) throw std::bad_alloc();
  SSL_CTX* const context = made.get();
  ::ERR_clear_error();
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  ::SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
  // A write takes what the socket takes, and goes on from another place of memory.
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(context, 1);  // else each record costs two recv()
  ::SSL_CTX_set_verify(context, given.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  // Without this a key with a pass phrase asks for it on the program's terminal.
  ::SSL_CTX_set_default_passwd_cb(context, [](char*, int, int, void*) { return -1; });
  trust(context, given, who, read_before);
  show(context, given, who, read_before);
  return made;
}

/// What a file system says of files that were read.
class Stamp {
 public:
  explicit Stamp(const TlsSettings& settings) {
    if (settings.ca_file.empty()) {
      add(or_default(::X509_get_default_cert_file_env(), ::X509_get_default_cert_file()));
      // Each of these is a folder, in which a file more or less is a change.
      const std::string folders =
          or_default(::X509_get_default_cert_dir_env(), ::X509_get_default_cert_dir());
      std::string_view rest = folders;
      while (!rest.empty()) {
        const std::string_view folder = rest.substr(0, rest.find(':'));
        rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
        add(std::string(folder));
      }
    }
    for (const std::string* each : {&settings.ca_file, &settings.certificate, &settings.key}) {
      if (!each->empty()) add(*each);
    }
  }
  friend bool operator==(const Stamp&, const Stamp&) = default;

  /// A file that was just written may be written again without a change of what is said of it: its
  /// times have steps of some milliseconds.
  [[nodiscard]] bool is_old() const noexcept {
    constexpr std::time_t step = 2;
    timespec now{};
    return ::clock_gettime(CLOCK_REALTIME, &now) == 0 && newest_ + step <= now.tv_sec;
  }

 private:
  static std::string or_default(const char* variable, const char* otherwise) {
    const char* const value = std::getenv(variable);
    return value != nullptr ? value : otherwise;
  }
  void add(const std::string& path) {
    struct stat said {};
    if (::stat(path.c_str(), &said) != 0) said = {};
    newest_ = std::max(newest_, said.st_ctim.tv_sec);
    files_.push_back({static_cast<std::int64_t>(said.st_dev),
                      static_cast<std::int64_t>(said.st_ino), said.st_size, said.st_ctim.tv_sec,
                      said.st_ctim.tv_nsec});
  }

  std::vector<std::array<std::int64_t, 5>> files_;
  std::time_t newest_ = 0;
};

}  // namespace

struct Tls::Context {
  Context(ContextPointer made, Stamp files) : ssl(std::move(made)), stamp(std::move(files)) {}
  ~Context() {
    // As in ~TlsStream.
    if (generation != base::fork_generation()) static_cast<void>(ssl.release());
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  ContextPointer ssl;
  const Stamp stamp;
  const std::uint32_t generation = base::fork_generation();
};

Tls::Tls(TlsSettings settings, std::string who)
    : settings_(std::move(settings)), who_(std::move(who)) {
  static_cast<void>(context(Read::never));
}

Tls::~Tls() = default;

std::shared_ptr<const Tls::Context> Tls::context(Read read) const {
  std::shared_ptr<const Context> kept;
  {
    const std::lock_guard lock(mutex_);
    kept = kept_;
  }
  Stamp stamp(settings_);
  if (kept && kept->stamp == stamp) return kept;
  ContextPointer made = make_context(settings_, who_, read == Read::before);
  auto context = std::make_shared<const Context>(std::move(made), std::move(stamp));
  // What changed while it was read is read again for the next connection.
  if (context->stamp.is_old() && context->stamp == Stamp(settings_)) {
    const std::lock_guard lock(mutex_);
    kept_ = context;
  }
  return context;
}

std::unique_ptr<Stream> Tls::wrap(std::unique_ptr<Stream> plain, const std::string& host) const {
  const std::string& name = settings_.server_name.empty() ? host : settings_.server_name;
  std::shared_ptr<const Context> context;
  Failure why;
  try {
    context = this->context(Read::before);
  } catch (const Error& error) {
    why = {error.errc(), base::words_of(error)};
  }
  return std::make_unique<TlsStream>(context ? context->ssl.get() : nullptr, why, std::move(plain),
                                     name, settings_.verify);
}

}  // namespace mortise::remote
