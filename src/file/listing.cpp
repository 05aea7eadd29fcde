// SPDX-License-Identifier: MIT
// A file stays when its name is freed, so most are not held; which are, the kernel tells.
#include "file/listing.hpp"

#include "base/unique_fd.hpp"
#include "file/file_name.hpp"
#include "file/header.hpp"
#include "file/lock_file.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::file {
namespace {

constexpr std::string_view suffix = ".lock";

// As in sweep.cpp: what getdents64(2) writes. The C library's readdir() would keep a descriptor
// that a forked child inherits.
struct Name {
  std::uint64_t inode;
  std::int64_t offset;
  std::uint16_t size;
  std::uint8_t type;
};
constexpr std::size_t text_offset = 19;

/// The first so many files behind one, in order.
class FirstFiles {
 public:
  FirstFiles(const std::string& behind, std::size_t most) : behind_(behind), most_(most) {}
  void see(std::string_view file) {
    if (file <= behind_ || (first_.size() >= most_ && file >= first_.front())) return;
    first_.emplace_back(file);
    std::push_heap(first_.begin(), first_.end());
    if (first_.size() <= most_) return;
    std::pop_heap(first_.begin(), first_.end());
    first_.pop_back();
  }
  [[nodiscard]] std::vector<std::string> take() {
    std::sort_heap(first_.begin(), first_.end());
    return std::move(first_);
  }

 private:
  const std::string& behind_;
  const std::size_t most_;
  std::vector<std::string> first_;
};

/// What the files of all names begin with that begin like this; what is hashed may be any.
bool may_begin_with(std::string_view file, std::string_view prefix) {
  if (prefix.empty() || file.starts_with("%h-")) return true;
  // The escapes go byte by byte, but for a dot, which is one at the beginning only.
  std::string begins = file_name(prefix);
  begins.resize(begins.size() - suffix.size());
  return begins.starts_with("%h-") || file.starts_with(begins);
}

Failure read_files(const Directory& directory, std::string_view prefix, FirstFiles& files) {
  base::UniqueFd folder;
  if (Failure why = directory.open(folder)) return why;
  alignas(8) std::array<char, 32'768> names{};
  for (;;) {
    const long got = ::syscall(SYS_getdents64, folder.get(), names.data(), names.size());
    if (got == 0) return {};
    if (got < 0) {
      return {Errc::unavailable,
              "file " + directory.path() + ": cannot be read: " + std::strerror(errno)};
    }
    for (std::size_t at = 0; at < static_cast<std::size_t>(got);) {
      Name name{};
      std::memcpy(&name, names.data() + at, text_offset);
      const std::string_view file(names.data() + at + text_offset);
      if (file.ends_with(suffix) && may_begin_with(file, prefix)) files.see(file);
      at += name.size;
    }
  }
}

/// @param name what is held by it; empty = it is no lock of ours, or is free
Failure look_at(const Directory& directory, const std::string& file, std::string& name) {
  name.clear();
  std::shared_ptr<LockFile> found;
  // A stranger's is left out, and so is one that went in the meantime.
  if (LockFile::open_any(directory, file, found) || !found) return {};
  bool locked = false;
  if (Failure why = found->locked_elsewhere(locked)) return why;
  if (!locked || read_name(found->descriptor(), name) != 0) return {};
  // It was put there by hand, or its holder has not yet written whose it is: then it is just taken.
  if (file_name(name) != file) name.clear();
  return {};
}

}  // namespace

Failure list_held(const Directory& directory, const std::string& prefix, const std::string& cursor,
                  std::size_t limit, NamePage& out) {
  FirstFiles first(cursor, files_in_a_page);
  if (Failure why = read_files(directory, prefix, first)) return why;
  const std::vector<std::string> files = first.take();
  const bool all = files.size() < files_in_a_page;
  for (const std::string& file : files) {
    if (out.names.size() == limit) return {};
    std::string name;
    if (Failure why = look_at(directory, file, name)) return why;
    if (!name.empty() && name.starts_with(prefix)) out.names.push_back(std::move(name));
    out.cursor = file;
  }
  if (all) out.cursor.clear();
  return {};
}

}  // namespace mortise::file
