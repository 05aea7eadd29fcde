// SPDX-License-Identifier: MIT
// A user's program that has a ZooKeeper client of its own, libzookeeper_mt, beside Mortise's
// ZooKeeper backend: each must get its own functions, and both work at once.
// Usage: consumer <port of a ZooKeeper on 127.0.0.1>
#define THREADED
#include <mortise/mortise.hpp>

#include <zookeeper/zookeeper.h>

#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <string>
#include <thread>

namespace {

std::atomic<bool> connected{false};

void watch(zhandle_t* /*handle*/, int type, int state, const char* /*path*/, void* /*context*/) {
  if (type == ZOO_SESSION_EVENT && state == ZOO_CONNECTED_STATE) connected = true;
}

int fail(const std::string& why) {
  std::cout << why << '\n';
  return 1;
}

long threads() {
  long count = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator("/proc/self/task")) {
    ++count;
  }
  return count;
}

std::string home_of(void* function) {
  Dl_info info{};
  return ::dladdr(function, &info) != 0 ? info.dli_fname : "?";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return fail("no port");
  const std::string server = std::string("127.0.0.1:") + argv[1];
  const std::string home = home_of(reinterpret_cast<void*>(&zoo_create));
  if (home.find("libzookeeper_mt") == std::string::npos) return fail("zoo_create is in " + home);

  zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
  const long before = threads();
  zhandle_t* const theirs = zookeeper_init(server.c_str(), &watch, 10'000, nullptr, nullptr, 0);
  if (theirs == nullptr) return fail("no handle");
  for (int i = 0; i < 3'000 && !connected; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (!connected) return fail("their client is not connected");
  if (threads() != before + 2) return fail("their client has no threads of its own");

  std::uint64_t token = 0;
  {
    mortise::Client client("zookeeper://" + server + "/beside");
    mortise::Lock lock = client.make_lock("package");
    for (int i = 0; i < 100; ++i) {
      lock.lock();
      token = lock.token().value();
      // Their synchronous calls need their threads, which must not have become ours.
      if (zoo_exists(theirs, "/beside/package", 0, nullptr) != ZOK) return fail("their call fails");
      lock.unlock();
    }
    if (threads() != before + 3) return fail("Mortise has more than its background thread");
  }
  if (zoo_exists(theirs, "/", 0, nullptr) != ZOK) return fail("their client is dead");
  zookeeper_close(theirs);
  std::cout << "token " << token << "\n";
  return 0;
}
