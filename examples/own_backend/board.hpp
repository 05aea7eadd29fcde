// SPDX-License-Identifier: MIT
// A store of your own: a board in this process. The board has the holder of each name, and a queue
// of waiters. Through mortise::Backend it gets all features of mortise::Lock.
#pragma once

#include <mortise/backend.hpp>
#include <mortise/mortise.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace own {

/// One request, and the client that sent it.
struct Entry {
  mortise::Host* client = nullptr;
  std::shared_ptr<mortise::Acquisition> request;
};

/// The store that the clients share. A real store is a server behind a connection.
/// @thread_safety every member may be called concurrently.
class Board {
 public:
  void acquire(const Entry& entry);
  void cancel(const Entry& entry);
  [[nodiscard]] mortise::Released release(const mortise::HoldId& hold);
  [[nodiscard]] bool stands(const mortise::HoldId& hold);
  /// Ends all waits and holds of a client.
  void leave(const mortise::Host* client);
  /// Ends the hold of a name, as an administrator does, and notifies the holder.
  void wipe(const std::string& name);

 private:
  struct Name {
    std::optional<Entry> holder;
    std::uint64_t number = 0;  // of the last grant
    std::deque<Entry> queue;
  };
  /// A grant that is reported after the mutex is free, because a completion may call the backend.
  struct News {
    Entry granted;
    std::uint64_t number = 0;
    void report() const;
  };
  [[nodiscard]] static bool is_of(const Name& name, const mortise::AttemptId& attempt);
  [[nodiscard]] static std::optional<mortise::Holder> holder_of(const Name& name);
  [[nodiscard]] static News grant(Name& name, const Entry& entry);
  [[nodiscard]] static News free(Name& name);

  std::mutex mutex_;
  std::map<std::string, Name> names_;
};

/// The connection of one client to the board.
// [backend]
class BoardBackend final : public mortise::Backend {
 public:
  explicit BoardBackend(std::shared_ptr<Board> board) : board_(std::move(board)) {}

  [[nodiscard]] mortise::StoreDescription describe() const override;
  void start(mortise::Host& host) override { host_ = &host; }
  void stop() noexcept override { board_->leave(host_); }
  void acquire(const std::shared_ptr<mortise::Acquisition>& operation) override;
  void cancel(const std::shared_ptr<mortise::Acquisition>& operation) override;
  void renew(const std::shared_ptr<mortise::Renewal>& operation) override;
  void release(const std::shared_ptr<mortise::Release>& operation) override;

 private:
  const std::shared_ptr<Board> board_;
  mortise::Host* host_ = nullptr;
};
// [/backend]

}  // namespace own
