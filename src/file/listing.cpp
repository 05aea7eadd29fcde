// SPDX-License-Identifier: MIT
// A file stays when its name is freed, so most are not held; which are, the kernel tells.
#include "file/listing.hpp"

#include "base/unique_fd.hpp"
#include "core/first_names.hpp"
#include "file/directory_entry.hpp"
#include "file/file_name.hpp"
#include "file/header.hpp"
#include "file/key_look.hpp"
#include "file/lock_bytes.hpp"
#include "file/lock_file.hpp"

#include <sys/syscall.h>
#include <unistd.h>

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

/// What the files of all names begin with that begin like this; what is hashed may be any.
bool may_begin_with(std::string_view stem, std::string_view prefix) {
  if (prefix.empty() || stem.starts_with(hash_mark)) return true;
  // The escapes go byte by byte, but for a dot, which is one at the beginning only.
  std::string begins = file_name(prefix);
  begins.resize(begins.size() - lock_suffix.size());
  return begins.starts_with(hash_mark) || stem.starts_with(begins);
}

Failure read_files(const Directory& directory, const Listing& asked, core::FirstNames& files) {
  base::UniqueFd folder;
  if (Failure why = directory.open(folder)) return why;
  alignas(8) std::array<char, 32'768> names{};
  for (;;) {
    const long got = ::syscall(SYS_getdents64, folder.get(), names.data(), names.size());
    if (got == 0) return {};
    if (got < 0) {
      return {Errc::unavailable,
              "file " + directory.path() + ": cannot read the directory: " + std::strerror(errno)};
    }
    for (std::size_t at = 0; at < static_cast<std::size_t>(got);) {
      DirectoryEntry name{};
      std::memcpy(&name, names.data() + at, entry_name_offset);
      const std::string_view file(names.data() + at + entry_name_offset);
      const std::string_view stem = file.substr(0, file.rfind('.'));
      if (file.ends_with(suffix_of(asked.mode())) && may_begin_with(stem, asked.prefix())) {
        files.see(stem);
      }
      at += name.size;
    }
  }
}

/// @param name what is held by it; empty = it is no file of ours, or is free
Failure look_at(const Directory& directory, const std::string& file, Mode mode, std::string& name) {
  name.clear();
  std::shared_ptr<LockFile> found;
  // A stranger's is left out, and so is one that went in the meantime.
  if (LockFile::open_any(directory, file, found) || !found) return {};
  Conflict held;
  // Whoever draws a permit's number, or finds that there is none, has locked another byte.
  const ByteRange bytes = mode == Mode::permit ? permit_bytes : owned_bytes;
  if (Failure why = found->conflict(bytes, ByteLock::exclusive, held)) return why;
  if (!held.there || read_name(found->descriptor(), name) != 0) return {};
  // It was put there by hand, or its holder has not yet written whose it is: then it is just taken.
  if (file_name(name, mode) != file) name.clear();
  if (mode != Mode::once || name.empty()) return {};
  std::optional<Holder> runner;
  if (look_at_runner(directory, name, runner) || !runner) name.clear();
  return {};
}

}  // namespace

Failure list_held(const Directory& directory, const Listing& asked, NamePage& out) {
  core::FirstNames first(asked.cursor(), files_in_a_page);
  if (Failure why = read_files(directory, asked, first)) return why;
  for (const std::string& stem : first.take()) {
    if (out.names.size() == asked.limit()) return {};
    const std::string file = stem + std::string(suffix_of(asked.mode()));
    std::string name;
    if (Failure why = look_at(directory, file, asked.mode(), name)) return why;
    if (!name.empty() && name.starts_with(asked.prefix())) out.names.push_back(std::move(name));
    out.cursor = stem;
  }
  if (first.all()) out.cursor.clear();
  return {};
}

Failure look_at_holder(const Directory& directory, const std::string& name, Mode mode,
                       std::optional<Holder>& out) {
  std::shared_ptr<LockFile> found;
  out.reset();
  Failure why = LockFile::open_to_read(directory, name, mode, LockFile::Missing::leave, found);
  Conflict held;
  if (!why && found) why = found->conflict(reading_byte, ByteLock::exclusive, held);
  if (why || !held.there) return why;
  const bool is_read = held.kind == ByteLock::shared;
  out = found->grants().holder(is_read ? Mode::shared : Mode::exclusive);
  return {};
}

Failure look_at_runner(const Directory& directory, const std::string& key,
                       std::optional<Holder>& out) {
  std::shared_ptr<const mortise::Record> record;
  Failure why = look_at_key(directory, key, record);
  if (why || !record->held) return why;
  return look_at_holder(directory, key, Mode::once, out);
}

Failure list_permits(const Directory& directory, const std::string& name, std::size_t limit,
                     std::vector<HolderEntry>& out) {
  std::shared_ptr<LockFile> found;
  Failure why = LockFile::open_any(directory, file_name(name, Mode::permit), found);
  if (why || !found) return why;
  Header header;
  why = found->grants().read(header);
  std::string whose;
  if (why || read_name(found->descriptor(), whose) != 0 || whose.empty()) return why;
  if (whose != name) {
    return found->not_ours("the file belongs to another lock name; use another name");
  }
  const std::size_t before = out.size();
  for (std::uint32_t at = 0; at < header.turns.permits && out.size() < limit; ++at) {
    Conflict held;
    why = found->conflict(permit_byte(at), ByteLock::exclusive, held);
    if (why) return why;
    if (held.there) out.push_back({.mode = Mode::permit});
  }
  // Who came last is known, and may be gone.
  if (out.size() == before) return {};
  const Holder last = header.grant.holder(Mode::permit);
  out[before].label = last.label;
  out[before].token = last.token;
  return {};
}

}  // namespace mortise::file
