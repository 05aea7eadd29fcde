// SPDX-License-Identifier: MIT
// The C client calls back from inside of itself: what it says becomes an answer here.
#include "zookeeper/handle.hpp"

#include <mortise/error.hpp>

#include "base/mutant.hpp"

#include <zookeeper_renamed.h>

#include <poll.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

namespace mortise::zookeeper {
namespace {

// Of the protocol; our header may be older than the server.
constexpr int user_demanded = -124;
constexpr int quota_exceeded = -125;
// No node comes to it: one has to be written 2^31 times.
constexpr int no_version = 0x7fffffff;

// That the server puts behind a name; of an int, which may be negative.
constexpr std::size_t digits_of_a_number = 11;

thread_local Handle* current = nullptr;  // whose C client runs on this thread

Code code_of(int number) noexcept {
  switch (number) {
    case ZOK: return Code::ok;
    case ZNONODE: return Code::no_node;
    case ZNODEEXISTS: return Code::exists;
    case ZNOTEMPTY: return Code::not_empty;
    case ZBADVERSION: return Code::other_version;
    case ZNOAUTH:
    case ZINVALIDACL: return Code::denied;
    case user_demanded: return Code::no_user;
    case ZNOCHILDRENFOREPHEMERALS: return Code::ephemeral;
    case ZEPHEMERALONLOCALSESSION: return Code::local;
    case ZUNIMPLEMENTED: return Code::unsupported;
    case quota_exceeded: return Code::quota;
    case ZTHROTTLEDOP:
    case ZSESSIONMOVED:
    case ZNOTREADONLY: return Code::not_done;
    case ZRUNTIMEINCONSISTENCY:
    case ZCONNECTIONLOSS:
    case ZOPERATIONTIMEOUT:
    case ZSYSTEMERROR: return Code::unknown;
    case ZSESSIONEXPIRED:
    case ZINVALIDSTATE:
    case ZAUTHFAILED:
    case ZCLOSING: return Code::ended;
    default: return Code::wrong;
  }
}

const void* data_of(std::uint64_t call) noexcept {
  return reinterpret_cast<const void*>(static_cast<std::uintptr_t>(call));  // NOLINT: never read
}

std::uint64_t call_of(const void* data) noexcept { return reinterpret_cast<std::uintptr_t>(data); }

Reply reply_of(int number, const struct Stat* stat) noexcept {
  Reply reply;
  reply.code = code_of(number);
  reply.number = number;
  if (stat != nullptr) {
    reply.czxid = stat->czxid;
    reply.mzxid = stat->mzxid;
    reply.ctime = stat->ctime;
    reply.mtime = stat->mtime;
    reply.version = stat->version;
    reply.owner = stat->ephemeralOwner;
  }
  return reply;
}

}  // namespace

std::string words_of(const Reply& reply) {
  return std::string(zerror(reply.number)) + " (" + std::to_string(reply.number) + ")";
}

// The C client has taken the bytes of the requests with the call; what it answers to each goes
// here.
struct Handle::Writing {
  std::vector<zoo_op_t> requests;
  std::vector<zoo_op_result_t> answers;
  std::string made;  // the path, with the zero behind it
};

// Called by the C client, always from inside one of our calls of it. Nothing may be thrown through
// its frames: without memory the process ends, as it does inside the C client.
struct Handle::Callbacks {
  static void replied(const void* data, const Reply& reply) noexcept {
    current->user_.replied(call_of(data), reply);
  }
  static void made(int code, const char* path, const struct Stat* stat, const void* data) {
    Reply reply = reply_of(code, stat);
    if (path != nullptr) reply.text = path;
    replied(data, reply);
  }
  static void made_parent(int code, const char* /*path*/, const void* data) {
    replied(data, reply_of(code, nullptr));
  }
  static void done(int code, const void* data) { replied(data, reply_of(code, nullptr)); }
  static void wrote(int code, const void* data) {
    const auto found = current->writings_.find(call_of(data));
    if (found == current->writings_.end()) return;
    const std::unique_ptr<Writing> writing = std::move(found->second);
    current->writings_.erase(found);
    Reply reply = reply_of(code, nullptr);
    reply.text = writing->made.c_str();
    replied(data, reply);
  }
  static void seen(int code, const struct Stat* stat, const void* data) {
    replied(data, reply_of(code, stat));
  }
  static void got(int code, const char* value, int size, const struct Stat* stat,
                  const void* data) {
    Reply reply = reply_of(code, stat);
    if (value != nullptr && size > 0) reply.text = {value, static_cast<std::size_t>(size)};
    replied(data, reply);
  }
  static void listed(int code, const struct String_vector* names, const void* data) {
    Reply reply = reply_of(code, nullptr);
    Children children;
    if (names != nullptr && names->count > 0) {
      children.assign(names->data, names->data + names->count);
    }
    reply.children = &children;
    replied(data, reply);
  }
  static void watched(zhandle_t* /*handle*/, int type, int state, const char* path,
                      void* /*context*/) {
    User& user = current->user_;
    if (type != ZOO_SESSION_EVENT) {
      const bool known =
          type == ZOO_DELETED_EVENT || type == ZOO_CHANGED_EVENT || type == ZOO_CHILD_EVENT;
      if (path == nullptr || !known) return;
      user.watched(path, type == ZOO_DELETED_EVENT);
    } else if (state == ZOO_CONNECTED_STATE) {
      user.connected();
    } else if (state == ZOO_EXPIRED_SESSION_STATE) {
      user.expired();
    } else if (state == ZOO_AUTH_FAILED_STATE) {
      user.refused();
    } else {
      user.disconnected();
    }
  }

  /// The C client's calls on this thread are this handle's, until the end of the scope.
  class Scope {
   public:
    explicit Scope(Handle& handle) noexcept
        : use_(handle.wire_), before_(std::exchange(current, &handle)) {}
    ~Scope() { current = before_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Wire::Use use_;
    Handle* before_;
  };
};

Handle::Handle(const Options& options, User& user)
    : user_(user), wire_(options.tls), creator_only_(options.creator_only) {
  wire_.set_hosts(options.hosts);
  static std::once_flag once;
  std::call_once(once, [] {
    zoo_set_debug_level(static_cast<ZooLogLevel>(0));  // the library never prints
    // We shuffle ourselves: it would seed the program's own random numbers.
    zoo_deterministic_conn_order(1);
  });
  const Callbacks::Scope scope(*this);
  // NOLINTNEXTLINE(cppcoreguidelines-prefer-member-initializer): only inside of the scope
  handle_ = zookeeper_init2(options.servers.c_str(), &Callbacks::watched,
                            static_cast<int>(options.session.count()), nullptr, nullptr,
                            ZOO_NO_LOG_CLIENTENV, nullptr);
  if (handle_ == nullptr) {
    const int error = errno;
    throw Error({error == EINVAL ? Errc::misconfigured : Errc::exhausted,
                 std::string("the ZooKeeper C client: ") + std::strerror(error)});
  }
  zoo_set_servers_resolution_delay(handle_, -1);
  if (!options.credentials.empty()) {
    zoo_add_auth(handle_, "digest", options.credentials.data(),
                 static_cast<int>(options.credentials.size()), nullptr, nullptr);
  }
}

Handle::~Handle() {
  if (handle_ == nullptr) return;
  const Callbacks::Scope scope(*this);
  // Without a connection it says nothing to the server.
  wire_.close_socket();
  zookeeper_close(handle_);
}

void Handle::end() noexcept {
  const Callbacks::Scope scope(*this);
  wire_.keep_open();
  zookeeper_close(std::exchange(handle_, nullptr));
  descriptor_ = -1;
}

void Handle::farewell(Instant until) noexcept {
  if (!base::mutant("zookeeper.close_leaves_the_session")) wire_.farewell(until);
}

bool Handle::create_ephemeral(const std::string& prefix, std::string_view data,
                              std::uint64_t call) {
  const Callbacks::Scope scope(*this);
  const bool stays =
      base::mutant("zookeeper.permit_is_lost_with_its_client") && prefix.ends_with("-lease-");
  return zoo_acreate2(handle_, prefix.c_str(), data.data(), static_cast<int>(data.size()),
                      creator_only_ ? &ZOO_CREATOR_ALL_ACL : &ZOO_OPEN_ACL_UNSAFE,
                      stays ? ZOO_PERSISTENT_SEQUENTIAL : ZOO_EPHEMERAL_SEQUENTIAL,
                      &Callbacks::made, data_of(call)) == ZOK;
}

bool Handle::create_parent(const std::string& path, bool container, std::string_view data,
                           std::uint64_t call) {
  const Callbacks::Scope scope(*this);
  return zoo_acreate(handle_, path.c_str(), data.data(), static_cast<int>(data.size()),
                     creator_only_ ? &ZOO_CREATOR_ALL_ACL : &ZOO_OPEN_ACL_UNSAFE,
                     container ? ZOO_CONTAINER : ZOO_PERSISTENT, &Callbacks::made_parent,
                     data_of(call)) == ZOK;
}

bool Handle::remove(const std::string& path, std::uint64_t call) {
  const Callbacks::Scope scope(*this);
  return zoo_adelete(handle_, path.c_str(), -1, &Callbacks::done, data_of(call)) == ZOK;
}

bool Handle::list(const std::string& path, bool watch, std::uint64_t call) {
  const Callbacks::Scope scope(*this);
  return zoo_awget_children(handle_, path.c_str(), watch ? &Callbacks::watched : nullptr, nullptr,
                            &Callbacks::listed, data_of(call)) == ZOK;
}

bool Handle::get(const std::string& path, bool watch, std::uint64_t call) {
  const Callbacks::Scope scope(*this);
  return zoo_awget(handle_, path.c_str(), watch ? &Callbacks::watched : nullptr, nullptr,
                   &Callbacks::got, data_of(call)) == ZOK;
}

bool Handle::exists(const std::string& path, std::uint64_t call) {
  const Callbacks::Scope scope(*this);
  return zoo_awexists(handle_, path.c_str(), nullptr, nullptr, &Callbacks::seen, data_of(call)) ==
         ZOK;
}

bool Handle::sync(const std::string& path, std::uint64_t call) {
  const Callbacks::Scope scope(*this);
  return zoo_async(handle_, path.c_str(), &Callbacks::made_parent, data_of(call)) == ZOK;
}

bool Handle::set(const std::string& path, std::string_view data, std::uint64_t call) {
  const Callbacks::Scope scope(*this);
  return zoo_aset(handle_, path.c_str(), data.data(), static_cast<int>(data.size()), -1,
                  &Callbacks::seen, data_of(call)) == ZOK;
}

bool Handle::write(std::vector<Write> writes, std::uint64_t call) {
  const Callbacks::Scope scope(*this);
  auto made = std::make_unique<Writing>();
  made->requests.resize(writes.size());
  made->answers.resize(writes.size());
  const struct ACL_vector* const rights =
      creator_only_ ? &ZOO_CREATOR_ALL_ACL : &ZOO_OPEN_ACL_UNSAFE;
  for (std::size_t i = 0; i < writes.size(); ++i) {
    const Write& each = writes[i];
    zoo_op_t* const request = &made->requests[i];
    const int size = static_cast<int>(each.data.size());
    switch (each.kind) {
      case Write::Kind::create:
        zoo_create_op_init(request, each.path.c_str(), each.data.data(), size, rights,
                           ZOO_PERSISTENT, nullptr, 0);
        break;
      case Write::Kind::create_own:
        zoo_create_op_init(request, each.path.c_str(), each.data.data(), size, rights,
                           ZOO_EPHEMERAL, nullptr, 0);
        break;
      case Write::Kind::create_ephemeral:
        made->made.resize(each.path.size() + digits_of_a_number + 1);
        zoo_create_op_init(request, each.path.c_str(), each.data.data(), size, rights,
                           ZOO_EPHEMERAL_SEQUENTIAL, made->made.data(),
                           static_cast<int>(made->made.size()));
        break;
      case Write::Kind::set:
        zoo_set_op_init(request, each.path.c_str(), each.data.data(), size, each.version, nullptr);
        break;
      case Write::Kind::remove: zoo_delete_op_init(request, each.path.c_str(), each.version); break;
      case Write::Kind::check: zoo_check_op_init(request, each.path.c_str(), each.version); break;
    }
  }
  Writing& writing = *(writings_[call] = std::move(made));
  const bool sent = zoo_amulti(handle_, static_cast<int>(writes.size()), writing.requests.data(),
                               writing.answers.data(), &Callbacks::wrote, data_of(call)) == ZOK;
  if (!sent) writings_.erase(call);
  return sent;
}

bool Handle::refused_write(const std::string& path, std::uint64_t call) {
  const Callbacks::Scope scope(*this);
  return zoo_aset(handle_, path.c_str(), "", 0, no_version, &Callbacks::seen, data_of(call)) == ZOK;
}

bool Handle::unwatch(const std::string& path, std::uint64_t call) {
  const Callbacks::Scope scope(*this);
  // Its parameter is declared as the address of a function pointer, and called as a function. (Its
  // sister for a single watcher tells the server nothing.)
  return zoo_aremove_all_watches(handle_, path.c_str(), ZWATCHTYPE_DATA, 0,
                                 reinterpret_cast<void_completion_t*>(&Callbacks::done),
                                 data_of(call)) == ZOK;
}

Handle::Prepared Handle::prepare(Instant now) {
  const Callbacks::Scope scope(*this);
  int fd = -1;
  int wanted = 0;
  timeval wait{};
  int code = zookeeper_interest(handle_, &fd, &wanted, &wait);
  // After the last server of its list it would pause once: we have done so.
  if (code == ZOK && fd < 0) code = zookeeper_interest(handle_, &fd, &wanted, &wait);
  // It may have closed its socket just now.
  descriptor_ = wire_.is_open() && wire_.owns(fd) ? fd : -1;
  wanted_ = wanted;
  return {
      .failed = code != ZOK,
      .again = now + std::chrono::seconds(wait.tv_sec) + std::chrono::microseconds(wait.tv_usec)};
}

bool Handle::process_frame(int events) {
  // Whatever it means, the user was told.
  const int code = zookeeper_process(handle_, events);
  return code == ZOK;
}

void Handle::process(short events) {
  const Callbacks::Scope scope(*this);
  if (!wire_.settled()) {
    if (events == 0 || !wire_.advance()) return;
    events |= POLLOUT;  // which the C client waits for
  }
  if ((wanted_ & ZOOKEEPER_WRITE) != 0 && (events & (POLLOUT | POLLERR | POLLHUP)) != 0) {
    wanted_ &= ~ZOOKEEPER_WRITE;
    static_cast<void>(process_frame(ZOOKEEPER_WRITE));
    wire_.flush();
  }
  if ((events & (POLLIN | POLLERR | POLLHUP)) != 0) wire_.fill();
  while (wire_.readable() && process_frame(ZOOKEEPER_READ)) {
  }
}

void Handle::mark_broken(int error) {
  wire_.mark_broken(error);
  const Callbacks::Scope scope(*this);
  if (wire_.readable()) static_cast<void>(process_frame(ZOOKEEPER_READ));
}

void Handle::set_servers(const std::string& servers, Hosts hosts) {
  const Callbacks::Scope scope(*this);
  wire_.set_hosts(std::move(hosts));
  zoo_set_servers(handle_, servers.c_str());
}

// The C client closes its socket in the middle of its work. The number of a closed one is nobody's,
// which a poll reports without end, or a stranger's.
int Handle::descriptor() const noexcept {
  return wire_.is_open() && wire_.owns(descriptor_) ? descriptor_ : -1;
}

short Handle::interest() const noexcept {
  if (descriptor() < 0) return 0;
  if (!wire_.settled()) return wire_.interest();
  int events = POLLIN | wire_.interest();
  if ((wanted_ & ZOOKEEPER_WRITE) != 0 || wire_.blocked()) events |= POLLOUT;
  return static_cast<short>(events);
}

std::int64_t Handle::session_id() const noexcept {
  return handle_ != nullptr ? zoo_client_id(handle_)->client_id : 0;
}

std::chrono::milliseconds Handle::session_timeout() const noexcept {
  return std::chrono::milliseconds(zoo_recv_timeout(handle_));
}

}  // namespace mortise::zookeeper
