// SPDX-License-Identifier: MIT
// A file is removed under its lock, and everybody who has locked a file looks whether it is still
// there: so nobody holds a key by a file that is gone.
#include "file/sweep.hpp"

#include "file/directory_entry.hpp"
#include "file/file_name.hpp"
#include "file/key_page.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <optional>

namespace mortise::file {
namespace {

using std::chrono::milliseconds;

// Names of other files are passed over, but not without end.
constexpr int names_at_once = 64;
// Where there are few keys.
constexpr std::chrono::nanoseconds shortest_pass = std::chrono::seconds(1);
constexpr std::chrono::seconds latest{std::int64_t{1} << 40};
// A file without a record: its maker is at it, or has died.
constexpr milliseconds empty_for = std::chrono::minutes(1);

milliseconds wall_clock() noexcept {
  return std::chrono::duration_cast<milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
}

// What the modification time says. Empty: the file is gone, or is none.
std::optional<milliseconds> hint_of(int folder, const char* file, int flags) noexcept {
  struct statx found {};
  if (::statx(folder, file, flags, STATX_MTIME | STATX_TYPE, &found) != 0) return std::nullopt;
  if (!S_ISREG(found.stx_mode)) return std::nullopt;
  // Anybody may write any time there.
  const std::int64_t seconds = std::clamp<std::int64_t>(found.stx_mtime.tv_sec, 0, latest.count());
  return std::chrono::seconds(seconds) + milliseconds(found.stx_mtime.tv_nsec / 1'000'000);
}

// Leaves the time of the last access.
void write_hint(int fd, milliseconds due) noexcept {
  const timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT},
                             {.tv_sec = static_cast<time_t>(due.count() / 1000),
                              .tv_nsec = static_cast<long>(due.count() % 1000) * 1'000'000}};
  static_cast<void>(::futimens(fd, times));
}

// When the file may be removed, as its record says. Empty: it has none.
std::optional<milliseconds> due_of(const LockFile& file, std::uint64_t& number) noexcept {
  constexpr milliseconds not_at_all = milliseconds::max();
  KeyPage page;
  if (page.read(file.descriptor()) != 0 || page.damaged()) return not_at_all;
  number = page.last_number();
  if (page.newest() == nullptr) return std::nullopt;
  if (page.newest()->state == KeyState::absent) return milliseconds(0);
  return milliseconds(page.newest()->keep_until);
}

}  // namespace

void Sweep::some() noexcept {
  const std::unique_lock hold(mutex_, std::try_to_lock);
  if (!hold) return;
  try {
    const milliseconds now = wall_clock();
    int keys = 0;
    for (int names = 0; names < names_at_once && keys < keys_at_once; ++names) {
      const char* const name = next_name();
      if (name == nullptr) return;
      if (!std::string_view(name).ends_with(key_suffix)) continue;
      ++keys;
      look_at(name, now);
    }
  } catch (const std::bad_alloc&) {
    return;  // the next pass comes to it
  }
}

const char* Sweep::next_name() noexcept {
  if (!folder_) {
    const Instant now = BootClock::now();
    if (pass_began_ != Instant{} && now - pass_began_ < shortest_pass) return nullptr;
    at_ = end_ = 0;
    if (directory_.open(folder_)) return nullptr;
    pass_began_ = now;
  }
  if (at_ >= end_) {
    const long got = ::syscall(SYS_getdents64, folder_.get(), names_.data(), names_.size());
    at_ = 0;
    end_ = got > 0 ? static_cast<std::size_t>(got) : 0;
    if (got <= 0) {
      folder_.reset();
      return nullptr;
    }
  }
  DirectoryEntry name{};
  std::memcpy(&name, names_.data() + at_, entry_name_offset);
  const char* const text = names_.data() + at_ + entry_name_offset;
  at_ += name.size;
  return text;
}

void Sweep::look_at(const char* file, milliseconds now) {
  const auto hint = hint_of(folder_.get(), file, AT_SYMLINK_NOFOLLOW);
  if (!hint || *hint > now) return;
  std::shared_ptr<LockFile> found;
  if (LockFile::open_any(directory_, file, found) || !found) return;
  std::uint64_t number = 0;
  std::optional<milliseconds> due = due_of(*found, number);
  if (!due && *hint > now - empty_for) return;
  if (due && *due > now) return write_hint(found->descriptor(), *due);
  bool same = false;
  bool locked = false;
  if (found->prepare(directory_, same) || !same) return;
  if (found->try_lock(locked) || !locked) return;  // it runs
  due = due_of(*found, number);
  const bool over = due ? *due <= now : *hint <= now - empty_for;
  bool noted = false;
  if (over && found->named() == LockFile::Named::yes && !floor_.raise(number, noted) && noted) {
    ::unlink(found->path().c_str());
  }
  // Whoever has come meanwhile looks at the path again.
  found->unlock(INT_MAX);
}

}  // namespace mortise::file
