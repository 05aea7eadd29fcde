// SPDX-License-Identifier: MIT
// What client processes did, and when, as they saw it: a file of events that all of them append to
// at once, and that a `kill -9` of any of them leaves whole. It records; it judges nothing (see
// checker.hpp), and tests write through the pleasanter Recorder (recorder.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace mortise::model {

// CLOCK_MONOTONIC in nanoseconds, read by the raw system call: a clock shim that is preloaded to
// falsify the clock of the library under test must not move the clock of the witness. All processes
// of a host share this clock, so the order of events of different processes is exact.
std::int64_t monotonic_ns() noexcept;

enum class Operation : std::uint8_t {
  acquire = 1,  // a pair; the outermost one only, re-entry is not a hold of its own
  release,      // a pair
  write,        // a pair: a write to the protected resource under a hold
  renewal,      // single: the holder's deadline moved, because the server acknowledged it
  loss,         // single: the holder was told that its hold is lost
  death,        // single, by whoever killed: `time` = before the signal, `deadline` = after reaping
};

// What kind of hold an acquisition asks for. Permits and locks are spaces of names of their own.
enum class Shape : std::uint8_t { exclusive, shared, permit };

enum class Phase : std::uint8_t { invoked = 1, returned, single };

enum class Outcome : std::uint8_t {
  none,      // not a return
  ok,        // it happened
  fail,      // it cannot have happened, and never will
  unknown,   // it may have happened
  was_lost,  // of a release: the hold had been lost before
};

const char* to_string(Operation operation) noexcept;
const char* to_string(Phase phase) noexcept;
const char* to_string(Outcome outcome) noexcept;
const char* to_string(Shape shape) noexcept;

// One event, in memory as in the file.
struct Event {
  std::int64_t time = 0;      // ns; of an invoke before the call, of a return after it
  std::uint64_t op = 0;       // the same number on an invoke and its return; never 0
  std::uint64_t hold = 0;     // op of the acquisition that this belongs to; 0 on an acquisition
  std::uint64_t token = 0;    // fencing token of the hold, 0 while not known
  std::int64_t deadline = 0;  // the holder's own deadline, on the clock of `time`; 0 = no lease
  std::uint32_t owner = 0;    // thread, or explicit owner, within the process
  std::uint32_t name = 0;     // number of the lock's name; the test keeps the table
  std::int32_t pid = 0;       // of the process the event is about
  std::uint32_t process = 0;  // index of that client process, from 0; never used twice
  Operation operation{};      //
  Phase phase{};              //
  Outcome outcome{};          //
  Shape shape{};              // of the hold
  std::uint32_t slot = 0;     // where it stands in its file, from 1; written last: 0 = unfinished
};
static_assert(sizeof(Event) == 64 && std::is_trivially_copyable_v<Event>);
static_assert(offsetof(Event, slot) == 60, "the commit word ends the record");

// The file cannot be made, opened or understood. The message names it and the cause.
class HistoryError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// There is no room for one more event. Nothing was overwritten; the history is void as evidence,
// since an event is missing, and the checker says so.
class HistoryFull : public HistoryError {
 public:
  using HistoryError::HistoryError;
};

// A shared mapping of a file with room for a fixed number of events. Any number of threads of any
// number of processes append at once without a lock, each in a slot of its own that one atomic
// addition reserves. The kernel keeps the pages of a killed writer, so what was committed stays; a
// slot that was reserved and never committed is recognised and skipped. A forked child may go on
// with its parent's object; an executed program opens the path.
class HistoryFile {
 public:
  // Makes the file, which must not exist, and allocates its space, so that a full disk is an error
  // here and not a SIGBUS later. 64 bytes an event.
  static HistoryFile create(const std::string& path, std::uint64_t capacity);
  static HistoryFile open(const std::string& path);

  HistoryFile(HistoryFile&& other) noexcept;
  HistoryFile& operator=(HistoryFile&& other) noexcept;
  HistoryFile(const HistoryFile&) = delete;
  HistoryFile& operator=(const HistoryFile&) = delete;
  ~HistoryFile();

  // Appends, and returns the op of the event: the given one, or, where that is 0, a new one.
  // Throws HistoryFull.
  std::uint64_t append(Event event);

  // The two halves of append(): a writer that dies between them leaves an unfinished slot.
  std::uint64_t reserve();
  void commit(std::uint64_t slot, const Event& event) noexcept;

  // The committed events in the order of their slots. Whole only when all writers have ended.
  std::vector<Event> read() const;

  std::uint64_t capacity() const noexcept;
  std::uint64_t reserved() const noexcept;    // slots in use, unfinished ones included
  std::uint64_t unfinished() const noexcept;  // reserved, and not committed (yet)
  std::uint64_t refused() const noexcept;     // events that found no room
  const std::string& path() const noexcept { return path_; }

 private:
  struct Header;

  HistoryFile(std::string path, void* mapping, std::size_t bytes) noexcept;
  static HistoryFile map(const std::string& path, int file, std::size_t bytes);
  Header& header() const noexcept;
  Event* slots() const noexcept;

  std::string path_;
  void* mapping_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace mortise::model
