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

/// @return the C client's word for the kind of node that a request makes.
int mode_of(const Request& request) noexcept {
  switch (request.kind) {
    case Ask::create_container: return ZOO_CONTAINER;
    case Ask::create_own: return ZOO_EPHEMERAL;
    case Ask::create_ephemeral: break;
    default: return ZOO_PERSISTENT;
  }
  const bool stays =
      base::mutant("zookeeper.permit_is_lost_with_its_client") && request.path.ends_with("-lease-");
  return stays ? ZOO_PERSISTENT_SEQUENTIAL : ZOO_EPHEMERAL_SEQUENTIAL;
}

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
    if (reply.code == Code::no_user) current->note(News::no_user);
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
    if (type != ZOO_SESSION_EVENT) {
      const bool known =
          type == ZOO_DELETED_EVENT || type == ZOO_CHANGED_EVENT || type == ZOO_CHILD_EVENT;
      if (path == nullptr || !known) return;
      current->user_.watched(path, type == ZOO_DELETED_EVENT);
    } else if (state == ZOO_CONNECTED_STATE) {
      current->note(News::up);
    } else if (state == ZOO_EXPIRED_SESSION_STATE) {
      current->note(News::expired);
    } else if (state == ZOO_AUTH_FAILED_STATE) {
      current->note(News::refused);
    } else {
      current->note(News::down);
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
    : user_(user),
      wire_(options.tls),
      creator_only_(options.creator_only),
      servers_(options.servers) {
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

// Why a server ends the connection is known before the end.
void Handle::note(News news) noexcept {
  if (news_ != News::no_user || news != News::down) news_ = news;
}

bool Handle::send(const Request& request, std::uint64_t call) {
  if (request.kind == Ask::several) return send_several(request.parts, call);
  const Callbacks::Scope scope(*this);
  const char* const path = request.path.c_str();
  const char* const bytes = request.data.data();
  const int size = static_cast<int>(request.data.size());
  const struct ACL_vector* const rights =
      creator_only_ ? &ZOO_CREATOR_ALL_ACL : &ZOO_OPEN_ACL_UNSAFE;
  const void* const data = data_of(call);
  const auto sent = [&] {
    switch (request.kind) {
      case Ask::create:
      case Ask::create_container:
        return zoo_acreate(handle_, path, bytes, size, rights, mode_of(request),
                           &Callbacks::made_parent, data);
      case Ask::create_own:
      case Ask::create_ephemeral:
        return zoo_acreate2(handle_, path, bytes, size, rights, mode_of(request), &Callbacks::made,
                            data);
      case Ask::set:
        return zoo_aset(handle_, path, bytes, size, request.version, &Callbacks::seen, data);
      case Ask::remove: return zoo_adelete(handle_, path, request.version, &Callbacks::done, data);
      case Ask::list:
        return zoo_awget_children(handle_, path, nullptr, nullptr, &Callbacks::listed, data);
      case Ask::list_and_watch:
        return zoo_awget_children(handle_, path, &Callbacks::watched, nullptr, &Callbacks::listed,
                                  data);
      case Ask::get: return zoo_awget(handle_, path, nullptr, nullptr, &Callbacks::got, data);
      case Ask::get_and_watch:
        return zoo_awget(handle_, path, &Callbacks::watched, nullptr, &Callbacks::got, data);
      case Ask::exists:
        return zoo_awexists(handle_, path, nullptr, nullptr, &Callbacks::seen, data);
      case Ask::sync: return zoo_async(handle_, path, &Callbacks::made_parent, data);
      // Its parameter is declared as the address of a function pointer, and called as a function.
      // (Its sister for a single watcher tells the server nothing.)
      case Ask::unwatch:
        return zoo_aremove_all_watches(handle_, path, ZWATCHTYPE_DATA, 0,
                                       reinterpret_cast<void_completion_t*>(&Callbacks::done),
                                       data);
      case Ask::check:
      case Ask::several: break;
    }
    return static_cast<int>(ZBADARGUMENTS);
  };
  return sent() == ZOK;
}

bool Handle::send_several(const std::vector<Request>& parts, std::uint64_t call) {
  const Callbacks::Scope scope(*this);
  auto made = std::make_unique<Writing>();
  made->requests.resize(parts.size());
  made->answers.resize(parts.size());
  const struct ACL_vector* const rights =
      creator_only_ ? &ZOO_CREATOR_ALL_ACL : &ZOO_OPEN_ACL_UNSAFE;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Request& part = parts[i];
    zoo_op_t* const request = &made->requests[i];
    const char* const path = part.path.c_str();
    const int size = static_cast<int>(part.data.size());
    switch (part.kind) {
      case Ask::set:
        zoo_set_op_init(request, path, part.data.data(), size, part.version, nullptr);
        break;
      case Ask::remove: zoo_delete_op_init(request, path, part.version); break;
      case Ask::check: zoo_check_op_init(request, path, part.version); break;
      case Ask::create_ephemeral:
        made->made.resize(part.path.size() + digits_of_a_number + 1);
        zoo_create_op_init(request, path, part.data.data(), size, rights, mode_of(part),
                           made->made.data(), static_cast<int>(made->made.size()));
        break;
      default:
        zoo_create_op_init(request, path, part.data.data(), size, rights, mode_of(part), nullptr,
                           0);
        break;
    }
  }
  Writing& writing = *(writings_[call] = std::move(made));
  const bool sent = zoo_amulti(handle_, static_cast<int>(parts.size()), writing.requests.data(),
                               writing.answers.data(), &Callbacks::wrote, data_of(call)) == ZOK;
  if (!sent) writings_.erase(call);
  return sent;
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

void Handle::process(short events) {
  const Callbacks::Scope scope(*this);
  if (!wire_.settled()) {
    if (events == 0 || !wire_.advance()) return;
    events |= POLLOUT;  // which the C client waits for
  }
  if ((wanted_ & ZOOKEEPER_WRITE) != 0 && (events & (POLLOUT | POLLERR | POLLHUP)) != 0) {
    wanted_ &= ~ZOOKEEPER_WRITE;
    zookeeper_process(handle_, ZOOKEEPER_WRITE);
    wire_.flush();
  }
  if ((events & (POLLIN | POLLERR | POLLHUP)) != 0) wire_.fill();
  while (wire_.readable() && zookeeper_process(handle_, ZOOKEEPER_READ) == ZOK) {
  }
}

void Handle::set_servers(const std::string& servers, Hosts hosts) {
  if (servers == servers_) return;
  const Callbacks::Scope scope(*this);
  wire_.set_hosts(std::move(hosts));
  zoo_set_servers(handle_, servers.c_str());
  servers_ = servers;
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
