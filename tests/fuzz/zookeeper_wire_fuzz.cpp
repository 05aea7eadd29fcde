// SPDX-License-Identifier: MIT
// Goal: whatever bytes come instead of a ZooKeeper server's, the C client under our wire survives
// them, every request is answered once, and what it is answered can be read. Method: a session of
// our handle with a server on this machine that the input plays: records of a kind, a size, bytes.
#include "fuzz/fuzz.hpp"
#include "fuzz/zookeeper_peer.hpp"
#include "zookeeper/handle.hpp"

#include <poll.h>

#include <chrono>
#include <set>
#include <string>

namespace {

using namespace mortise::zookeeper;
using mortise::BootClock;
using mortise::fuzz::expect;
using mortise::fuzz::Input;
using mortise::fuzz::zookeeper_number;
using mortise::fuzz::ZooKeeperPeer;

/// Counts what is answered, and reads all of it.
class Reader final : public Handle::User {
 public:
  void connected() override {}
  void disconnected() override { over_ = true; }
  void expired() override { over_ = true; }
  void refused() override { over_ = true; }
  void replied(std::uint64_t call, const Reply& reply) override {
    expect(asked_.erase(call) == 1, "a reply to what was asked, and one");
    read(reply.text);
    if (reply.children != nullptr) {
      for (const std::string_view child : *reply.children) read(child);
    }
    expect(!words_of(reply).empty(), "words for every code");
  }
  void watched(std::string_view path, bool /*gone*/) override { read(path); }

  std::uint64_t ask() {
    asked_.insert(++calls_);
    return calls_;
  }
  void refused(std::uint64_t call) { asked_.erase(call); }
  [[nodiscard]] bool over() const noexcept { return over_; }
  [[nodiscard]] bool all_answered() const noexcept { return asked_.empty(); }

 private:
  void read(std::string_view bytes) {
    for (const char c : bytes) sum_ += static_cast<unsigned char>(c);
  }

  std::set<std::uint64_t> asked_;
  std::uint64_t calls_ = 0;
  bool over_ = false;
  unsigned sum_ = 0;
};

bool several_in_one(Handle& handle, std::uint64_t call) {
  return handle.write(
      {{.kind = Write::Kind::create_ephemeral, .path = "/l/a/x-lock-", .data = "label"},
       {.kind = Write::Kind::create, .path = "/l/k", .data = "kept"},
       {.kind = Write::Kind::set, .path = "/l/k", .data = "kept", .version = 1},
       {.kind = Write::Kind::check, .path = "/l/a", .version = 2},
       {.kind = Write::Kind::remove, .path = "/l/a/x-lock-1"}},
      call);
}

/// @param other of the two that this kind stands for
bool request(Handle& handle, unsigned kind, bool other, std::uint64_t call) {
  switch (kind) {
    case 0: return handle.create_ephemeral("/l/a/x-lock-", "label", call);
    case 1:
      return other ? several_in_one(handle, call) : handle.create_parent("/l/a", true, "a", call);
    case 2: return handle.remove("/l/a/x-lock-1", call);
    case 3: return handle.list("/l/a", other, call);
    case 4: return handle.get("/l/a/x-lock-1", false, call);
    case 5: return handle.get("/l/a/x-lock-1", true, call);
    case 6: return handle.exists("/l/a/x-lock-1", call);
    case 7: return handle.sync("/l/a", call);
    default: return handle.unwatch("/l/a/x-lock-1", call);
  }
}

constexpr unsigned requests = 9;

/// One answer of the server. @param kind above the requests
void answer(ZooKeeperPeer& peer, unsigned kind, const std::string& body) {
  const std::string transaction(8, '\1');
  const std::string fine(4, '\0');
  switch (kind) {
    case 9: return peer.send_frame(zookeeper_number(peer.next()) + transaction + fine + body);
    case 10: return peer.send_frame(zookeeper_number(peer.next()) + transaction + body);
    case 11: return peer.send_frame(std::string(4, '\xff') + transaction + fine + body);
    case 12: return peer.send_frame("\xff\xff\xff\xfe" + transaction + fine + body);
    case 13: return peer.send_frame("\xff\xff\xff\xfc" + transaction + body);
    case 14: return peer.send_frame("\xff\xff\xff\xf8" + transaction + fine + body);
    default: return peer.send(body);
  }
}

/// @param other instead of our own greeting, where it is long enough to be one
std::string greeting(std::string_view other) {
  if (other.size() >= 36) return std::string(other.substr(0, 37));
  return std::string(4, '\0') + zookeeper_number(10'000) + std::string(8, '\1') +
         zookeeper_number(16) + std::string(17, '\0');
}

void talk(Handle& handle, Reader& reader, Input& input) {
  handle.prepare(BootClock::now());
  ZooKeeperPeer peer;
  handle.process(static_cast<short>(handle.interest() & POLLOUT));
  handle.flush();
  static_cast<void>(peer.next());
  peer.send_frame(greeting(input.bytes(input.byte())));
  handle.process(POLLIN);
  while (!input.empty() && !reader.over()) {
    const unsigned byte = input.byte();
    const unsigned kind = byte % 16U;
    if (kind < requests) {
      const std::uint64_t call = reader.ask();
      if (!request(handle, kind, byte >= 16U, call)) reader.refused(call);
      handle.flush();
    } else {
      answer(peer, kind, std::string(input.bytes(input.byte())));
      handle.process(POLLIN);
      if (handle.wire().error() != 0) break;  // a session would connect anew
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  Reader reader;
  {
    const std::string servers = ZooKeeperPeer::address();
    Handle handle({.servers = servers,
                   .credentials = "",
                   .creator_only = false,
                   .session = std::chrono::seconds(10)},
                  reader);
    talk(handle, reader, input);
  }
  expect(reader.all_answered(), "every request is answered, at the latest by the end");
  return 0;
}
