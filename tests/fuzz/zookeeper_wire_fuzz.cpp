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
  [[nodiscard]] bool all_answered() const noexcept { return asked_.empty(); }

 private:
  void read(std::string_view bytes) {
    for (const char c : bytes) sum_ += static_cast<unsigned char>(c);
  }

  std::set<std::uint64_t> asked_;
  std::uint64_t calls_ = 0;
  unsigned sum_ = 0;
};

Request several_in_one() {
  return {.kind = Ask::several,
          .parts = {{Ask::create_ephemeral, "/l/a/x-lock-", "label"},
                    {Ask::create, "/l/k", "kept"},
                    {Ask::set, "/l/k", "kept", 1},
                    {Ask::check, "/l/a", "", 2},
                    {Ask::remove, "/l/a/x-lock-1"}}};
}

/// @param other of the two that this kind stands for
Request request(unsigned kind, bool other) {
  const std::string node = "/l/a/x-lock-1";
  switch (kind) {
    case 0: return {Ask::create_ephemeral, "/l/a/x-lock-", "label"};
    case 1: return other ? several_in_one() : Request{Ask::create_container, "/l/a", "a"};
    case 2: return {Ask::remove, node};
    case 3: return {other ? Ask::list_and_watch : Ask::list, "/l/a"};
    case 4: return {Ask::get, node};
    case 5: return {Ask::get_and_watch, node};
    case 6: return {Ask::exists, node};
    case 7: return {Ask::sync, "/l/a"};
    default: return {Ask::unwatch, node};
  }
}

/// @return true if the connection has ended.
bool is_over(Handle& handle) {
  const Handle::News news = handle.take_news();
  return news != Handle::News::none && news != Handle::News::up;
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
  while (!input.empty() && !is_over(handle)) {
    const unsigned byte = input.byte();
    const unsigned kind = byte % 16U;
    if (kind < requests) {
      const std::uint64_t call = reader.ask();
      if (!handle.send(request(kind, byte >= 16U), call)) reader.refused(call);
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
