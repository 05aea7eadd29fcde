// SPDX-License-Identifier: MIT
// A store that a lock protects, as a test sees it: ResourceProcess starts and ends the process that
// keeps it (resource_main.cpp), ResourceClient writes to it from any process. It refuses tokens
// below the highest it has seen, which is what fencing promises; it knows nothing of locks.
#pragma once

#include "model/process.hpp"
#include "model/resource_protocol.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace mortise::model {

// The resource cannot be reached or answers nonsense: whether a write took place is unknown.
class ResourceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using ResourceStatistics = wire::Statistics;
using AcceptedWrite = wire::Entry;

// One connection, for one thread. After fork() the child makes its own. After a ResourceError it is
// of no more use.
class ResourceClient {
 public:
  struct Written {
    bool accepted = false;
    std::uint64_t highest = 0;  // the highest token seen for the name
    std::uint64_t value = 0;    // what the name now contains
  };

  explicit ResourceClient(const std::string& directory,
                          std::chrono::milliseconds patience = std::chrono::seconds(10));
  ResourceClient(ResourceClient&& other) noexcept;
  ResourceClient& operator=(ResourceClient&& other) noexcept;
  ResourceClient(const ResourceClient&) = delete;
  ResourceClient& operator=(const ResourceClient&) = delete;
  ~ResourceClient();

  Written write(std::uint32_t name, std::uint64_t token, std::uint64_t value);

  // The value of the last accepted write, 0 before the first: for read-modify-write under a lock.
  std::uint64_t read(std::uint32_t name);

  ResourceStatistics statistics();

  // All accepted writes, in their order.
  std::vector<AcceptedWrite> log();

 private:
  wire::Reply ask(const wire::Request& request);

  std::string path_;
  int socket_ = -1;
};

class ResourceProcess {
 public:
  struct Options {
    bool fenced = true;                 // false: takes every token, as a negative control
    std::size_t log_limit = 1'000'000;  // accepted writes; then it accepts no more
    std::chrono::milliseconds patience = std::chrono::seconds(10);
  };

  // Starts `binaries`/mortise_resource (a test passes MORTISE_BIN_DIR) with its socket in
  // `directory`, and returns when it answers. Throws ResourceError with the cause if it does not.
  ResourceProcess(const std::string& binaries, const std::string& directory, Options options);
  ResourceProcess(const std::string& binaries, const std::string& directory);

  ResourceProcess(const ResourceProcess&) = delete;
  ResourceProcess& operator=(const ResourceProcess&) = delete;
  ~ResourceProcess();

  const std::string& directory() const noexcept { return directory_; }
  Process& process() noexcept { return process_; }

  ResourceStatistics statistics() { return client_.statistics(); }
  std::vector<AcceptedWrite> log() { return client_.log(); }

  // Ends it by SIGTERM, or, where that takes too long, by force; false if it did not end well.
  bool stop();

 private:
  static Process start(const std::string& binaries, const std::string& directory,
                       const Options& options);

  std::string directory_;
  Options options_;
  Process process_;
  ResourceClient client_;
};

// The first entry whose token is below that of an earlier write to the same name, as an index;
// writes.size() if there is none.
std::size_t first_stale(const std::vector<AcceptedWrite>& writes);

}  // namespace mortise::model
