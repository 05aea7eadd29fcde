// SPDX-License-Identifier: MIT
#include "support/zookeeper_talk.hpp"

#include "support/loopback.hpp"
#include "support/zookeeper_bytes.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace mortise::test {
namespace {

using Clock = std::chrono::steady_clock;

// Numbers of the protocol.
constexpr std::int32_t op_delete = 2;
constexpr std::int32_t op_exists = 3;
constexpr std::int32_t op_data = 4;
constexpr std::int32_t op_set_data = 5;
constexpr std::int32_t op_children = 8;
constexpr std::int32_t op_sync = 9;
constexpr std::int32_t op_create = 1;
constexpr std::int32_t op_create_container = 19;
constexpr std::int32_t op_close = -11;
constexpr std::int32_t op_auth = 100;
constexpr std::int32_t xid_auth = -4;
constexpr std::int32_t xid_event = -1;
constexpr std::int32_t any_version = -1;
constexpr std::size_t largest_answer = std::size_t{64} << 20U;

ZooKeeperStat stat_of(ZooKeeperReader& in) {
  ZooKeeperStat out;
  out.created = in.int64();
  out.modified = in.int64();
  in.int64();  // ctime
  in.int64();  // mtime
  out.version = in.int32();
  out.cversion = in.int32();
  in.int32();  // aversion
  out.owner = in.int64();
  in.int32();  // length of the data
  out.children = in.int32();
  return out;
}

std::string path_and_flag(std::string_view path) {
  return ZooKeeperWriter().text(path).byte(0).bytes();  // no watch
}

}  // namespace

ZooKeeperTalk::ZooKeeperTalk(std::uint16_t port, std::chrono::milliseconds session,
                             std::chrono::milliseconds at_most)
    : fd_(connect_to<ZooKeeperTalkError>(port, Clock::now() + at_most)), at_most_(at_most) {
  try {
    greet(session);
  } catch (...) {
    drop();
    throw;
  }
}

ZooKeeperTalk::ZooKeeperTalk(ZooKeeperTalk&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      last_(other.last_),
      session_(other.session_),
      at_most_(other.at_most_) {}

ZooKeeperTalk::~ZooKeeperTalk() {
  if (fd_ < 0) return;
  try {
    static_cast<void>(ask(op_close, {}));
  } catch (const std::exception&) {  // it has gone already
  }
  drop();
}

void ZooKeeperTalk::drop() noexcept {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void ZooKeeperTalk::greet(std::chrono::milliseconds session) {
  const std::string no_password(16, '\0');
  send(ZooKeeperWriter()
           .int32(0)
           .int64(0)
           .int32(static_cast<std::int32_t>(session.count()))
           .int64(0)
           .text(no_password)
           .byte(0)
           .bytes());
  const std::string answer = receive();
  ZooKeeperReader in(answer);
  in.int32();
  in.int32();
  session_ = in.int64();
}

void ZooKeeperTalk::authenticate(std::string_view scheme, std::string_view who) {
  send(ZooKeeperWriter().int32(xid_auth).int32(op_auth).int32(0).text(scheme).text(who).bytes());
  const std::string answer = receive();
  ZooKeeperReader in(answer);
  in.int32();
  in.int64();
  if (const std::int32_t error = in.int32(); error != 0) {
    throw ZooKeeperTalkError("not authenticated", error);
  }
}

std::string ZooKeeperTalk::create(std::string_view path, ZooKeeperKind kind, std::string_view data,
                                  std::string_view acl, std::int32_t rights) {
  const std::size_t colon = std::min(acl.find(':'), acl.size() - 1);
  const std::string answer = ask(kind == ZooKeeperKind::container ? op_create_container : op_create,
                                 ZooKeeperWriter()
                                     .text(path)
                                     .text(data)
                                     .int32(1)  // one entry of rights
                                     .int32(rights)
                                     .text(acl.substr(0, colon))
                                     .text(acl.substr(colon + 1))
                                     .int32(static_cast<std::int32_t>(kind))
                                     .bytes());
  return ZooKeeperReader(answer).text();
}

void ZooKeeperTalk::create_all(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    try {
      create(path.substr(0, end));
    } catch (const ZooKeeperTalkError& error) {
      if (error.code != node_exists) throw;
    }
    if (end == std::string::npos) return;
  }
}

void ZooKeeperTalk::remove(std::string_view path) {
  static_cast<void>(ask(op_delete, ZooKeeperWriter().text(path).int32(any_version).bytes()));
}

void ZooKeeperTalk::remove_all(const std::string& path) {
  for (const std::string& child : children(path)) {
    remove_all(std::string(path).append("/").append(child));
  }
  try {
    remove(path);
  } catch (const ZooKeeperTalkError& error) {
    if (error.code != no_node) throw;
  }
}

void ZooKeeperTalk::set(std::string_view path, std::string_view data) {
  static_cast<void>(
      ask(op_set_data, ZooKeeperWriter().text(path).text(data).int32(any_version).bytes()));
}

std::string ZooKeeperTalk::data(std::string_view path) {
  const std::string answer = ask(op_data, path_and_flag(path));
  return ZooKeeperReader(answer).text();
}

std::vector<std::string> ZooKeeperTalk::children(std::string_view path) {
  try {
    const std::string answer = ask(op_children, path_and_flag(path));
    std::vector<std::string> out = ZooKeeperReader(answer).texts();
    std::sort(out.begin(), out.end());
    return out;
  } catch (const ZooKeeperTalkError& error) {
    if (error.code != no_node) throw;
    return {};
  }
}

std::optional<ZooKeeperStat> ZooKeeperTalk::stat(std::string_view path) {
  try {
    const std::string answer = ask(op_exists, path_and_flag(path));
    ZooKeeperReader in(answer);
    return stat_of(in);
  } catch (const ZooKeeperTalkError& error) {
    if (error.code != no_node) throw;
    return std::nullopt;
  }
}

void ZooKeeperTalk::sync(std::string_view path) {
  static_cast<void>(ask(op_sync, ZooKeeperWriter().text(path).bytes()));
}

std::string ZooKeeperTalk::ask(std::int32_t operation, std::string_view body) {
  const std::int32_t number = ++last_;
  send(ZooKeeperWriter().int32(number).int32(operation).bytes() + std::string(body));
  while (true) {
    const std::string answer = receive();
    ZooKeeperReader in(answer);
    const std::int32_t to = in.int32();
    in.int64();
    const std::int32_t error = in.int32();
    if (to == xid_event) continue;
    if (to != number) throw ZooKeeperTalkError("an answer to something else");
    if (error != 0) {
      throw ZooKeeperTalkError("ZooKeeper answers error " + std::to_string(error), error);
    }
    return std::string(in.rest());
  }
}

void ZooKeeperTalk::send(std::string_view payload) {
  std::string frame = ZooKeeperWriter().text(payload).bytes();
  move_bytes(frame.data(), frame.size(), true);
}

std::string ZooKeeperTalk::receive() {
  std::string head(4, '\0');
  move_bytes(head.data(), head.size(), false);
  const auto size = static_cast<std::size_t>(ZooKeeperReader(head).int32());
  if (size > largest_answer) throw ZooKeeperTalkError("this is no answer of ZooKeeper");
  std::string out(size, '\0');
  move_bytes(out.data(), out.size(), false);
  return out;
}

void ZooKeeperTalk::move_bytes(char* bytes, std::size_t size, bool out) {
  const auto until = Clock::now() + at_most_;
  while (size > 0) {
    const ssize_t moved =
        out ? ::send(fd_, bytes, size, MSG_NOSIGNAL) : ::recv(fd_, bytes, size, 0);
    if (moved > 0) {
      bytes += moved;
      size -= static_cast<std::size_t>(moved);
      continue;
    }
    if (moved == 0) throw ZooKeeperTalkError("the connection has ended");
    if (errno == EINTR) continue;
    if (errno != EAGAIN) fail_with_errno<ZooKeeperTalkError>("the connection has ended");
    if (!wait_for<ZooKeeperTalkError>(fd_, out ? POLLOUT : POLLIN, until))
      throw ZooKeeperTalkError("no answer in time");
  }
}

std::string ask_zookeeper(std::uint16_t port, std::string_view word, Loopback loopback) {
  int fd = -1;
  std::string out;
  try {
    const auto until = Clock::now() + std::chrono::seconds(2);
    fd = connect_to<ZooKeeperTalkError>(port, until, loopback);
    bool goes_on = ::send(fd, word.data(), word.size(), MSG_NOSIGNAL) > 0;
    while (goes_on && wait_for<ZooKeeperTalkError>(fd, POLLIN, until)) {
      char buffer[4096];
      const ssize_t size = ::recv(fd, buffer, sizeof buffer, 0);
      goes_on = size > 0;
      if (goes_on) out.append(buffer, static_cast<std::size_t>(size));
    }
  } catch (const ZooKeeperTalkError&) {  // not there, which is an answer
  }
  if (fd >= 0) ::close(fd);
  return out;
}

}  // namespace mortise::test
