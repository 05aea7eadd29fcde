// SPDX-License-Identifier: MIT
// What a grant writes into the file, and which number it has.
#include "file/header.hpp"
#include "file/lock_file.hpp"

#include <algorithm>
#include <chrono>

namespace mortise::file {
namespace {

// In microseconds. No machine fails and comes back, and nobody puts a backup back, in so short a
// time; and who reads often has a number drawn ten times a second, not each time.
constexpr std::uint64_t moment = 100'000;

std::uint64_t wall_microseconds() noexcept {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto count = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  return count > 0 ? static_cast<std::uint64_t>(count) : 0;
}

}  // namespace

Failure LockFile::record_grant(std::string_view label, std::uint64_t& number, std::uint64_t above) {
  Header header;
  if (const int error = read_number(fd_.get(), header)) return failed(error, "read");
  return record_grant(header, label, number, above);
}

Failure LockFile::record_grant(const Header& found, std::string_view label, std::uint64_t& number,
                               std::uint64_t above) {
  if (Failure why = make_ours(found)) return why;
  LastGrant last;
  last.acquired_at = wall_microseconds();
  if (Failure why = next_number(found, above, last.acquired_at, last.number)) return why;
  last.pid = pid_;
  last.set_label(label);
  if (const int error = write_grant(fd_.get(), last)) return failed(error, "write");
  word_at_grant_ = found.word;
  number = last.number;
  return {};
}

bool LockFile::serves_readers(const Header& found) noexcept {
  return !found.blank() && found.grant.number + moment >= wall_microseconds();
}

Failure LockFile::draw_for_readers(Header& found) {
  if (Failure why = make_ours(found)) return why;
  std::uint64_t number = 0;
  if (Failure why = next_number(found, 0, wall_microseconds(), number)) return why;
  if (const int error = write_number(fd_.get(), number)) return failed(error, "write");
  found.grant.number = number;
  return {};
}

Failure LockFile::record_reader(const Header& found, std::string_view label,
                                std::uint64_t& number) {
  if (Failure why = make_ours(found)) return why;
  if (found.grant.number >= number_limit - 1) return too_large();
  LastGrant last;
  last.acquired_at = wall_microseconds();
  last.pid = pid_;
  last.set_label(label);
  last.label_size |= LastGrant::readers_mark;
  if (const int error = write_reader(fd_.get(), last)) return failed(error, "write");
  number = found.grant.number + 1;
  return {};
}

Failure LockFile::read(Header& out) const {
  if (const int error = read_header(fd_.get(), out)) return failed(error, "read");
  if (out.blank() || out.ours()) return {};
  return not_ours("this is not a lock file of this version; use another directory");
}

Failure LockFile::record_permits(const Header& found, std::uint32_t permits) {
  if (Failure why = make_ours(found)) return why;
  const int error = write_permits(fd_.get(), permits);
  return error == 0 ? Failure{} : failed(error, "write");
}

Failure LockFile::make_ours(const Header& found) {
  if (found.blank()) {
    if (Failure why = allocate()) return why;
    const int error = write_name_and_magic(fd_.get(), name_);
    if (error != 0) return failed(error, "write");
    name_checked_ = true;
    return {};
  }
  if (!found.ours()) {
    return not_ours("this is not a lock file of this version; use another directory");
  }
  return name_checked_ ? Failure{} : check_name();
}

Failure LockFile::too_large() const {
  return not_ours("the grant number in the file is above 2^53");
}

Failure LockFile::next_number(const Header& found, std::uint64_t above, std::uint64_t now,
                              std::uint64_t& number) const {
  const std::uint64_t given = found.grant.shared() ? found.grant.number + 1 : found.grant.number;
  number = std::max(std::max(given, above) + 1, now);
  const bool fits = number < number_limit && found.grant.number < number_limit;
  return fits ? Failure{} : too_large();
}

Failure LockFile::last_number(std::uint64_t& number) const {
  Header once;
  Header again;
  // Twice, since a number may be read while it is written.
  do {
    if (const int error = read_number(fd_.get(), once)) return failed(error, "read");
    if (const int error = read_number(fd_.get(), again)) return failed(error, "read");
  } while (once.grant.number != again.grant.number);
  if (!again.blank() && !again.ours()) {
    return not_ours("this is not a lock file of this version; use another directory");
  }
  number = again.grant.number;
  return {};
}

}  // namespace mortise::file
