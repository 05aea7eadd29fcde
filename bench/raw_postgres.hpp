// SPDX-License-Identifier: MIT
// What a program does that locks by a row of PostgreSQL and plain, blocking libpq, with prepared
// statements on a connection of its own: the floor of the PostgreSQL backend.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>

struct pg_conn;
struct pg_result;

namespace mortise::bench {

/// One blocking connection. Throws std::runtime_error where it breaks or the server refuses.
class RawPostgres {
 public:
  /// The table of the floor, of the shape of the library's own.
  [[nodiscard]] static std::string schema();

  /// @param name of the lock
  RawPostgres(const std::string& url, const std::string& name);

  /// An upsert that takes the row where its lease is over. @return whether it did
  bool take();
  /// Frees what `take()` took; its commit waits for no disk.
  void give();
  /// The same, and calls whoever listens to `channel`.
  void give_and_notify(const std::string& channel);
  /// A plain SELECT of the row: what a failed try costs at the least.
  [[nodiscard]] std::string look();
  /// Inserts a row and commits it, with an own table and no lock.
  void write_receipt(const std::string& payment, const std::string& bytes);
  /// A plain SELECT of the bytes, which come as they are.
  [[nodiscard]] std::string read_receipt(const std::string& payment);
  /// @return whether somebody waits for the name in the library's own table.
  [[nodiscard]] bool is_waited_for();

  void listen(const std::string& channel);
  /// Sleeps until a notification has come.
  void hear();

 private:
  struct Finish {
    void operator()(pg_conn* connection) const noexcept;
  };
  struct Clear {
    void operator()(pg_result* result) const noexcept;
  };
  using Result = std::unique_ptr<pg_result, Clear>;

  Result run(const char* sql);
  Result execute(const char* statement, std::initializer_list<std::string> parameters,
                 bool binary = false);

  std::unique_ptr<pg_conn, Finish> connection_;
  std::string name_;
  std::string attempt_;
  std::uint64_t sequence_ = 0;
  std::string number_;
};

}  // namespace mortise::bench
