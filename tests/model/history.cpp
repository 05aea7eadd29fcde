// SPDX-License-Identifier: MIT
// The layout of a history file: one page of header, then the slots. All writers agree through two
// words only: the header's `next`, and each slot's own commit word.
#include "model/history.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <limits>
#include <new>
#include <system_error>
#include <utility>

namespace mortise::model {

namespace {

constexpr std::uint64_t magic = 0x3179726f74736968;  // "history1"
constexpr std::size_t header_bytes = 4096;
constexpr std::uint64_t most_slots = std::numeric_limits<std::uint32_t>::max() - 1;

[[noreturn]] void fail_file(const std::string& path, const char* what, int error) {
  throw HistoryError("history file " + path + ": " + what + ": " +
                     std::generic_category().message(error));
}

// Closes on every way out; the mapping outlives the descriptor.
class Closer {
 public:
  explicit Closer(int file) : file_(file) {}
  Closer(const Closer&) = delete;
  Closer& operator=(const Closer&) = delete;
  ~Closer() { ::close(file_); }

 private:
  int file_;
};

}  // namespace

std::int64_t monotonic_ns() noexcept {
  timespec now{};
  ::syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

const char* to_string(Operation operation) noexcept {
  switch (operation) {
    case Operation::acquire: return "acquire";
    case Operation::release: return "release";
    case Operation::write: return "write";
    case Operation::renewal: return "renewal";
    case Operation::loss: return "loss";
    case Operation::death: return "death";
  }
  return "unknown operation";
}

const char* to_string(Phase phase) noexcept {
  switch (phase) {
    case Phase::invoked: return "invoked";
    case Phase::returned: return "returned";
    case Phase::single: return "single";
  }
  return "unknown phase";
}

const char* to_string(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::none: return "none";
    case Outcome::ok: return "ok";
    case Outcome::fail: return "fail";
    case Outcome::unknown: return "unknown";
    case Outcome::was_lost: return "was_lost";
  }
  return "unknown outcome";
}

const char* to_string(Shape shape) noexcept {
  switch (shape) {
    case Shape::exclusive: return "exclusive";
    case Shape::shared: return "shared";
    case Shape::permit: return "permit";
  }
  return "unknown shape";
}

struct HistoryFile::Header {
  std::uint64_t magic;
  std::uint64_t record_bytes;
  std::uint64_t capacity;
  std::atomic<std::uint64_t> next;
};

HistoryFile HistoryFile::create(const std::string& path, std::uint64_t capacity) {
  if (capacity == 0 || capacity > most_slots) {
    fail_file(path, "capacity out of range", EINVAL);
  }
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) {
    fail_file(path, "cannot create", errno);
  }
  const Closer closer(file);
  const std::size_t bytes = header_bytes + capacity * sizeof(Event);
  if (const int error = ::posix_fallocate(file, 0, static_cast<off_t>(bytes)); error != 0) {
    ::unlink(path.c_str());
    fail_file(path, "cannot allocate", error);
  }
  HistoryFile history = map(path, file, bytes);
  auto* header = ::new (history.mapping_) Header{};
  header->record_bytes = sizeof(Event);
  header->capacity = capacity;
  header->magic = magic;
  return history;
}

HistoryFile HistoryFile::open(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) {
    fail_file(path, "cannot open", errno);
  }
  const Closer closer(file);
  struct stat status {};
  if (::fstat(file, &status) != 0) {
    fail_file(path, "cannot stat", errno);
  }
  const auto bytes = static_cast<std::size_t>(status.st_size);
  if (bytes < header_bytes) {
    fail_file(path, "too short for a history", EINVAL);
  }
  HistoryFile history = map(path, file, bytes);
  const Header& header = history.header();
  const bool known = header.magic == magic && header.record_bytes == sizeof(Event);
  if (!known || header.capacity != (bytes - header_bytes) / sizeof(Event)) {
    fail_file(path, "not a history of this format", EINVAL);
  }
  return history;
}

HistoryFile HistoryFile::map(const std::string& path, int file, std::size_t bytes) {
  static_assert(sizeof(Header) <= header_bytes);
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "shared between processes");
  static_assert(std::atomic_ref<std::uint32_t>::is_always_lock_free, "shared between processes");
  void* mapping = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapping == MAP_FAILED) {
    fail_file(path, "cannot map", errno);
  }
  return {path, mapping, bytes};
}

HistoryFile::HistoryFile(std::string path, void* mapping, std::size_t bytes) noexcept
    : path_(std::move(path)), mapping_(mapping), bytes_(bytes) {}

HistoryFile::HistoryFile(HistoryFile&& other) noexcept
    : path_(std::move(other.path_)),
      mapping_(std::exchange(other.mapping_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

HistoryFile& HistoryFile::operator=(HistoryFile&& other) noexcept {
  HistoryFile moved(std::move(other));
  std::swap(path_, moved.path_);
  std::swap(mapping_, moved.mapping_);
  std::swap(bytes_, moved.bytes_);
  return *this;
}

HistoryFile::~HistoryFile() {
  if (mapping_ != nullptr) {
    ::munmap(mapping_, bytes_);
  }
}

std::uint64_t HistoryFile::append(Event event) {
  const std::uint64_t slot = reserve();
  if (event.op == 0) {
    event.op = slot;
  }
  commit(slot, event);
  return event.op;
}

std::uint64_t HistoryFile::reserve() {
  const std::uint64_t index = header().next.fetch_add(1, std::memory_order_relaxed);
  if (index >= capacity()) {
    throw HistoryFull("history file " + path_ + ": full with " + std::to_string(capacity()) +
                      " events");
  }
  return index + 1;
}

void HistoryFile::commit(std::uint64_t slot, const Event& event) noexcept {
  Event& place = slots()[slot - 1];
  // Everything but the commit word, and then the commit word: a reader in another process that sees
  // the second sees the first, and a writer that is killed in between has committed nothing.
  std::memcpy(static_cast<void*>(&place), &event, offsetof(Event, slot));
  std::atomic_ref(place.slot).store(static_cast<std::uint32_t>(slot), std::memory_order_release);
}

std::vector<Event> HistoryFile::read() const {
  std::vector<Event> events;
  const std::uint64_t end = reserved();
  events.reserve(end);
  for (std::uint64_t index = 0; index < end; ++index) {
    Event& place = slots()[index];
    if (std::atomic_ref(place.slot).load(std::memory_order_acquire) != 0) {
      events.push_back(place);
    }
  }
  return events;
}

std::uint64_t HistoryFile::capacity() const noexcept { return header().capacity; }

std::uint64_t HistoryFile::reserved() const noexcept {
  return std::min(header().next.load(std::memory_order_acquire), capacity());
}

std::uint64_t HistoryFile::unfinished() const noexcept {
  std::uint64_t count = 0;
  for (std::uint64_t index = 0, end = reserved(); index < end; ++index) {
    if (std::atomic_ref(slots()[index].slot).load(std::memory_order_acquire) == 0) {
      ++count;
    }
  }
  return count;
}

std::uint64_t HistoryFile::refused() const noexcept {
  const std::uint64_t next = header().next.load(std::memory_order_acquire);
  return next > capacity() ? next - capacity() : 0;
}

HistoryFile::Header& HistoryFile::header() const noexcept {
  return *static_cast<Header*>(mapping_);
}

Event* HistoryFile::slots() const noexcept {
  return reinterpret_cast<Event*>(static_cast<char*>(mapping_) + header_bytes);
}

}  // namespace mortise::model
