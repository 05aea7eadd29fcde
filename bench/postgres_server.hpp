// SPDX-License-Identifier: MIT
// A private PostgreSQL for one measurement: the tests' own, placed as the server's side, on a disk,
// with the library's tables and the floor's. Nothing runs in it but what is measured.
#pragma once

#include "placement.hpp"
#include "support/postgres_server.hpp"

#include <cstdint>
#include <string>

namespace mortise::bench {

/// Where the cluster lies: a flush of a disk takes longer than all the rest of a cycle.
enum class Medium { disk, memory };

/// The thread that makes it must outlive it: the kernel kills the server when that thread ends.
class PostgresBed {
 public:
  explicit PostgresBed(Mode mode, Medium medium = Medium::disk);

  /// @return the URL of the application's role, over TCP.
  [[nodiscard]] std::string url() const { return server_.url(); }
  /// @return the bytes of log that the server has written.
  [[nodiscard]] std::uint64_t log_position() const;

 private:
  test::PostgresServer server_;
};

}  // namespace mortise::bench
