// SPDX-License-Identifier: MIT
// The floor of the ZooKeeper backend, a program of its own: the same requests by the C client with
// threads, libzookeeper_mt, which is what a program would use. It knows no loss and no time limits.
//
//   mortise_bench_raw_zookeeper cycle|handoff|write|read PORT    prints a figure in microseconds
//   mortise_bench_raw_zookeeper warm PORT    puts a load on a server for some seconds
//
// It runs where its parent runs.
#include "figure.hpp"
#include "remote_handoff.hpp"

#include <zookeeper/zookeeper.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace mortise::bench {
namespace {

constexpr int session_ms = 30'000;
constexpr int many = 2000;
constexpr int few = 1000;  // where each leaves a node
constexpr std::chrono::seconds to_warm{5};
constexpr const char* parent = "/raw";
constexpr const char* prefix = "/raw/0123456789abcdef-lock-";
constexpr std::size_t digits = 10;  // of the number at the end of a node's name

/// One session, and one lock taken through it by one thread.
class RawZooKeeper {
 public:
  explicit RawZooKeeper(const std::string& port) {
    ::zoo_set_debug_level(static_cast<ZooLogLevel>(0));
    handle_ = ::zookeeper_init(("127.0.0.1:" + port).c_str(), &RawZooKeeper::watched, session_ms,
                               nullptr, this, 0);
    if (handle_ == nullptr) throw std::runtime_error("no handle of ZooKeeper");
    wait([this] { return connected_; });
    ::zoo_acreate(handle_, parent, "", 0, &ZOO_OPEN_ACL_UNSAFE, 0, &RawZooKeeper::parent_made,
                  this);
    wait([this] { return parent_made_; });
  }
  RawZooKeeper(const RawZooKeeper&) = delete;
  RawZooKeeper& operator=(const RawZooKeeper&) = delete;
  ~RawZooKeeper() { ::zookeeper_close(handle_); }

  /// Makes a node and lists the queue in one flight; waits for the one before, if there is one.
  void take() {
    made_ = listed_ = gone_ = false;
    check(::zoo_acreate2(handle_, prefix, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL_SEQUENTIAL,
                         &RawZooKeeper::made, this));
    check(::zoo_aget_children(handle_, parent, 0, &RawZooKeeper::listed, this));
    wait([this] { return made_ && listed_; });
    const std::string before = predecessor();
    if (before.empty()) return;
    check(::zoo_awget(handle_, (std::string(parent) + "/" + before).c_str(), &RawZooKeeper::watched,
                      this, &RawZooKeeper::looked, this));
    wait([this] { return gone_; });
  }
  void give() {
    deleted_ = false;
    check(::zoo_adelete(handle_, node_.c_str(), -1, &RawZooKeeper::deleted, this));
    wait([this] { return deleted_; });
  }
  /// Makes a node that stays, with these bytes.
  void write(const std::string& path, const std::string& bytes) {
    check(::zoo_create(handle_, path.c_str(), bytes.data(), static_cast<int>(bytes.size()),
                       &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT, nullptr, 0));
  }
  [[nodiscard]] std::string read(const std::string& path) {
    std::array<char, 1024> buffer{};
    int size = static_cast<int>(buffer.size());
    Stat stat{};
    check(::zoo_get(handle_, path.c_str(), 0, buffer.data(), &size, &stat));
    return {buffer.data(), static_cast<std::size_t>(size)};
  }
  [[nodiscard]] bool other_waits() {
    listed_ = false;
    check(::zoo_aget_children(handle_, parent, 0, &RawZooKeeper::listed, this));
    wait([this] { return listed_; });
    return queue_.size() > 1;
  }

 private:
  static RawZooKeeper& self(const void* context) {
    return *static_cast<RawZooKeeper*>(const_cast<void*>(context));  // NOLINT: C's void
  }
  static void check(int code) {
    if (code != ZOK) throw std::runtime_error(::zerror(code));
  }
  template <class Change>
  void tell(Change change) {
    const std::lock_guard lock(mutex_);
    change();
    changed_.notify_all();
  }
  template <class Condition>
  void wait(Condition condition) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds(20), condition)) {
      throw std::runtime_error("ZooKeeper does not answer");
    }
  }

  static void watched(zhandle_t* /*handle*/, int type, int state, const char* /*path*/,
                      void* context) {
    self(context).tell([&] {
      if (type == ZOO_SESSION_EVENT) {
        self(context).connected_ = state == ZOO_CONNECTED_STATE;
      } else {
        self(context).gone_ = true;
      }
    });
  }
  static void parent_made(int /*code*/, const char* /*path*/, const void* context) {
    self(context).tell([&] { self(context).parent_made_ = true; });
  }
  static void made(int code, const char* path, const Stat* /*stat*/, const void* context) {
    self(context).tell([&] {
      self(context).made_ = code == ZOK;
      if (code == ZOK) self(context).node_ = path;
    });
  }
  static void listed(int code, const String_vector* names, const void* context) {
    self(context).tell([&] {
      self(context).listed_ = code == ZOK;
      if (code == ZOK) self(context).queue_.assign(names->data, names->data + names->count);
    });
  }
  static void looked(int code, const char* /*data*/, int /*size*/, const Stat* /*stat*/,
                     const void* context) {
    if (code == ZNONODE) self(context).tell([&] { self(context).gone_ = true; });
  }
  static void deleted(int code, const void* context) {
    self(context).tell([&] { self(context).deleted_ = code == ZOK; });
  }

  /// The last one before ours in the queue; empty: there is none.
  std::string predecessor() {
    const std::lock_guard lock(mutex_);
    const auto number = [](const std::string& name) {
      return std::strtoll(name.c_str() + name.size() - digits, nullptr, 10);
    };
    const long long ours = number(node_);
    std::string out;
    for (const std::string& name : queue_) {
      if (number(name) < ours && (out.empty() || number(name) > number(out))) out = name;
    }
    return out;
  }

  zhandle_t* handle_ = nullptr;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool connected_ = false;
  bool parent_made_ = false;
  bool made_ = false;
  bool listed_ = false;
  bool gone_ = false;
  bool deleted_ = false;
  std::string node_;
  std::vector<std::string> queue_;
};

double cycle(const std::string& port) {
  RawZooKeeper raw(port);
  return p50(many,
             [&] {
               return timed(1, [&] {
                 raw.take();
                 raw.give();
               });
             }) /
         1000;
}

double handoff(const std::string& port) {
  return remote_handoff(
      [&](int) -> RemoteBaton {
        const auto raw = std::make_shared<RawZooKeeper>(port);
        return {.baton = {.take = [raw] { raw->take(); }, .give = [raw] { raw->give(); }},
                .other_waits = [raw] { return raw->other_waits(); }};
      },
      Mode::unpinned);
}

const std::string& receipt() {
  static const std::string instance(200, 'r');
  return instance;
}

std::string new_path() {
  static int count = 0;
  return std::string(parent) + "-" + std::to_string(now_ns()) + "-" + std::to_string(++count);
}

double write(const std::string& port) {
  RawZooKeeper raw(port);
  return p50(few, [&] { return timed(1, [&] { raw.write(new_path(), receipt()); }); }) / 1000;
}

double read(const std::string& port) {
  RawZooKeeper raw(port);
  const std::string path = new_path();
  raw.write(path, receipt());
  const auto check = [&] {
    if (raw.read(path) != receipt()) throw std::runtime_error("another receipt");
  };
  return p50(many, [&] { return timed(1, check); }) / 1000;
}

double warm(const std::string& port) {
  RawZooKeeper raw(port);
  const auto until = std::chrono::steady_clock::now() + to_warm;
  while (std::chrono::steady_clock::now() < until) {
    raw.take();
    raw.give();
  }
  return 0;
}

double run(const std::string& what, const std::string& port) {
  if (what == "cycle") return cycle(port);
  if (what == "handoff") return handoff(port);
  if (what == "write") return write(port);
  if (what == "read") return read(port);
  if (what == "warm") return warm(port);
  throw std::invalid_argument("cycle, handoff, write, read or warm");
}

}  // namespace
}  // namespace mortise::bench

int main(int count, char** arguments) {
  if (count != 3) {
    std::fprintf(stderr, "usage: %s cycle|handoff|write|read|warm PORT\n", arguments[0]);
    return 2;
  }
  try {
    std::printf("%f\n", mortise::bench::run(arguments[1], arguments[2]));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", arguments[0], error.what());
    return 1;
  }
}
