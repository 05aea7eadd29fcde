// SPDX-License-Identifier: MIT
// What the tests of keys in files share: requests about keys, and a look at the file of a key.
#pragma once

#include <mortise/record.hpp>

#include "file/key_page.hpp"
#include "integration/file_fixture.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace mortise::file {

/// A run, as whoever runs has it.
struct GrantedRun {
  HoldId hold;
  std::uint64_t run = 0;
  std::shared_ptr<const Memory> memory;
};

/// Requests of one client about keys.
class KeyUser {
 public:
  explicit KeyUser(std::shared_ptr<test::BackendUser> user) : user_(std::move(user)) {}

  [[nodiscard]] std::shared_ptr<Acquisition> attempt(const std::string& key, const Memory& memory,
                                                     bool wait = false) {
    Acquisition::Request request = user_->attempt(key, wait)->request();
    request.mode = Mode::once;
    request.memory = std::make_shared<const Memory>(memory);
    return std::make_shared<Acquisition>(std::move(request));
  }
  /// Asks once; not done where it waits.
  [[nodiscard]] std::shared_ptr<Acquisition> ask(const std::string& key, const Memory& memory,
                                                 bool wait = false) {
    const auto operation = attempt(key, memory, wait);
    user_->backend().acquire(operation);
    return operation;
  }
  [[nodiscard]] std::optional<GrantedRun> begin(const std::string& key, const Memory& memory) {
    return granted(*ask(key, memory));
  }
  [[nodiscard]] std::optional<GrantedRun> begin(const std::string& key) {
    return begin(key, a_day());
  }
  [[nodiscard]] static std::optional<GrantedRun> granted(const Acquisition& operation) {
    if (!operation.done() || operation.grant().number == 0) return std::nullopt;
    HoldId hold = test::BackendUser::hold_of(operation);
    hold.mode = Mode::once;
    return GrantedRun{
        .hold = hold, .run = operation.grant().run, .memory = operation.request().memory};
  }
  [[nodiscard]] std::shared_ptr<Release> end(const GrantedRun& run, KeyState state,
                                             std::string bytes) {
    auto conclusion = std::make_shared<const Conclusion>(Conclusion{
        .state = state, .bytes = std::move(bytes), .run = run.run, .memory = run.memory});
    auto operation = std::make_shared<Release>(run.hold, std::move(conclusion));
    user_->backend().release(operation);
    return operation;
  }
  Released succeed(const GrantedRun& run, std::string bytes) {
    return end(run, KeyState::succeeded, std::move(bytes))->outcome();
  }
  Released fail(const GrantedRun& run, std::string bytes) {
    return end(run, KeyState::failed, std::move(bytes))->outcome();
  }
  Released give_back(const GrantedRun& run) { return user_->release(run.hold); }
  /// @return what is remembered, as it is told to one who comes with this; null: nothing is told.
  [[nodiscard]] std::shared_ptr<const mortise::Record> replay(const std::string& key,
                                                              const Memory& memory) {
    return ask(key, memory)->record();
  }
  [[nodiscard]] std::shared_ptr<const mortise::Record> replay(const std::string& key) {
    return replay(key, a_day());
  }
  [[nodiscard]] std::shared_ptr<Recollection> recall(Recollection::Kind kind,
                                                     const std::string& key) {
    auto operation = std::make_shared<Recollection>(kind, key);
    user_->backend().records()->recall(operation);
    return operation;
  }
  [[nodiscard]] mortise::Record look(const std::string& key) {
    const auto record = recall(Recollection::Kind::look, key)->record();
    EXPECT_TRUE(record);
    return record ? *record : mortise::Record{};
  }
  /// @return whether it is forgotten.
  [[nodiscard]] bool forget(const std::string& key) {
    const auto record = recall(Recollection::Kind::forget, key)->record();
    return record && !record->held;
  }

  [[nodiscard]] static Memory a_day() { return {.keep = std::chrono::hours(24)}; }
  [[nodiscard]] test::BackendUser& user() { return *user_; }

 private:
  std::shared_ptr<test::BackendUser> user_;
};

class FileKeyTest : public FileTest {
 protected:
  [[nodiscard]] std::string path_of_key(const std::string& key) const {
    return directory() + "/" + file_name(key, Mode::once);
  }
  /// A client of its own.
  [[nodiscard]] KeyUser keys() const { return KeyUser(user()); }
  [[nodiscard]] static KeyUser keys(const Settings& settings) { return KeyUser(user(settings)); }
};

/// A key's file, behind the backend's back.
class KeyFile {
 public:
  explicit KeyFile(const std::string& path) : fd_(::open(path.c_str(), O_RDWR | O_CLOEXEC)) {
    EXPECT_GE(fd_, 0) << path;
    EXPECT_EQ(page_.read(fd_), 0);
  }
  KeyFile(const KeyFile&) = delete;
  KeyFile& operator=(const KeyFile&) = delete;
  ~KeyFile() { ::close(fd_); }

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] const KeyPage& page() const { return page_; }
  [[nodiscard]] const KeySlot& newest() const { return *page_.newest(); }
  /// Writes what a runner writes before it waits for the disk.
  [[nodiscard]] KeySlot write(KeyState state, const std::string& bytes) const {
    KeySlot slot = newest();
    ++slot.sequence;
    slot.state = state;
    EXPECT_EQ(write_slot(fd_, slot, bytes), 0);
    return slot;
  }
  /// Turns one byte of the place where a record lies.
  void damage(const KeySlot& slot, off_t byte) const { turn(place_of(slot) + byte); }
  using Place = std::array<char, sizeof(KeySlot)>;
  [[nodiscard]] std::size_t read_place(const KeySlot& slot, Place& out) const {
    return static_cast<std::size_t>(::pread(fd_, out.data(), out.size(), place_of(slot)));
  }
  void write_place(const KeySlot& slot, const Place& bytes) const {
    EXPECT_EQ(::pwrite(fd_, bytes.data(), bytes.size(), place_of(slot)),
              static_cast<ssize_t>(bytes.size()));
  }
  void damage_bytes(const KeySlot& slot, off_t byte) const {
    turn(4096 + static_cast<off_t>(slot.sequence & 1U) * 65536 + byte);
  }

 private:
  static off_t place_of(const KeySlot& slot) {
    return 2560 + static_cast<off_t>(slot.sequence & 1U) * 512;
  }
  void turn(off_t at) const {
    char c = 0;
    EXPECT_EQ(::pread(fd_, &c, 1, at), 1);
    c = static_cast<char>(c ^ 0x55);
    EXPECT_EQ(::pwrite(fd_, &c, 1, at), 1);
  }

  int fd_;
  KeyPage page_;
};

}  // namespace mortise::file
