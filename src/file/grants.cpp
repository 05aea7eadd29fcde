// SPDX-License-Identifier: MIT
// A grant: the bytes that it writes into the file, and its number.
#include "file/grants.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace mortise::file {
namespace {

// In microseconds. No machine fails and comes back, and no backup is put back, in so short a time;
// and a client that reads often has a number drawn ten times a second, not each time.
constexpr std::uint64_t moment = 100'000;

std::uint64_t wall_microseconds() noexcept {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto count = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  return count > 0 ? static_cast<std::uint64_t>(count) : 0;
}

}  // namespace

Grants::Grants(const OpenFile& file, std::string name)
    : file_(file), name_(std::move(name)), pid_(static_cast<std::uint32_t>(::getpid())) {}

Failure Grants::check() {
  Header header;
  if (Failure why = read(header)) return why;
  return header.blank() ? Failure{} : check_name();
}

Failure Grants::read(Header& out) const {
  if (const int error = read_header(fd(), out)) return file_.failed(error, "read");
  return out.blank() || out.ours() ? Failure{} : not_a_lock_file();
}

Holder Grants::holder(Mode mode) const {
  Header header;
  if (read_header(fd(), header) != 0 || !header.ours()) return {};
  return header.grant.holder(mode);
}

Failure Grants::record(std::string_view label, std::uint64_t& number, std::uint64_t above) {
  Header header;
  if (const int error = read_number(fd(), header)) return file_.failed(error, "read");
  return record(header, label, number, above);
}

Failure Grants::record(const Header& found, std::string_view label, std::uint64_t& number,
                       std::uint64_t above) {
  if (Failure why = make_ours(found)) return why;
  LastGrant last;
  last.acquired_at = wall_microseconds();
  if (Failure why = next_number(found, above, last.acquired_at, last.number)) return why;
  last.pid = pid_;
  last.set_label(label);
  if (const int error = write_grant(fd(), last)) return file_.failed(error, "write");
  word_at_grant_ = found.word;
  number = last.number;
  return {};
}

bool Grants::serves_readers(const Header& found) noexcept {
  return !found.blank() && found.grant.number + moment >= wall_microseconds();
}

Failure Grants::draw_for_readers(Header& found) {
  if (Failure why = make_ours(found)) return why;
  std::uint64_t number = 0;
  if (Failure why = next_number(found, 0, wall_microseconds(), number)) return why;
  if (const int error = write_number(fd(), number)) return file_.failed(error, "write");
  found.grant.number = number;
  return {};
}

Failure Grants::record_reader(const Header& found, std::string_view label, std::uint64_t& number) {
  if (Failure why = make_ours(found)) return why;
  if (found.grant.number >= number_limit - 1) return too_large();
  LastGrant last;
  last.acquired_at = wall_microseconds();
  last.pid = pid_;
  last.set_label(label);
  last.label_size |= LastGrant::readers_mark;
  if (const int error = write_reader(fd(), last)) return file_.failed(error, "write");
  number = found.grant.number + 1;
  return {};
}

Failure Grants::record_permits(const Header& found, std::uint32_t permits) {
  if (Failure why = make_ours(found)) return why;
  const int error = write_permits(fd(), permits);
  return error == 0 ? Failure{} : file_.failed(error, "write");
}

Failure Grants::check_name() {
  bool same = false;
  if (const int error = compare_name(fd(), name_, same)) return file_.failed(error, "read");
  if (!same) return file_.not_ours("the file belongs to another lock name; use another name");
  name_checked_ = true;
  return {};
}

Failure Grants::make_ours(const Header& found) {
  if (found.blank()) {
    if (Failure why = file_.allocate()) return why;
    const int error = write_name_and_magic(fd(), name_);
    if (error != 0) return file_.failed(error, "write");
    name_checked_ = true;
    return {};
  }
  if (!found.ours()) return not_a_lock_file();
  return name_checked_ ? Failure{} : check_name();
}

Failure Grants::not_a_lock_file() const {
  return file_.not_ours("this is not a lock file of this version; use another directory");
}

Failure Grants::too_large() const {
  return file_.not_ours("the grant number in the file is above 2^53");
}

Failure Grants::next_number(const Header& found, std::uint64_t above, std::uint64_t now,
                            std::uint64_t& number) const {
  const std::uint64_t given = found.grant.shared() ? found.grant.number + 1 : found.grant.number;
  number = std::max(std::max(given, above) + 1, now);
  const bool fits = number < number_limit && found.grant.number < number_limit;
  return fits ? Failure{} : too_large();
}

Failure Grants::last_number(std::uint64_t& number) const {
  Header once;
  Header again;
  // Twice, since a number may be read while it is written.
  do {
    if (const int error = read_number(fd(), once)) return file_.failed(error, "read");
    if (const int error = read_number(fd(), again)) return file_.failed(error, "read");
  } while (once.grant.number != again.grant.number);
  if (!again.blank() && !again.ours()) return not_a_lock_file();
  number = again.grant.number;
  return {};
}

}  // namespace mortise::file
