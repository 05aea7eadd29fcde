// SPDX-License-Identifier: MIT
// Reads and writes the header. The order of writes is the crash safety: the signature comes last.
#include "file/header.hpp"

#include "file/bytes.hpp"
#include "file/file_name.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

namespace mortise::file {
namespace {

// The last byte is the version. The numbers behind it are in the machine's own byte order: the
// files of one directory are used by one kernel.
constexpr char signature[8] = {'M', 'O', 'R', 'T', 'I', 'S', 'E', '\1'};
constexpr off_t grant_offset = 16;
constexpr off_t turns_offset = 168;

static_assert(std::is_trivially_copyable_v<Header> && std::is_standard_layout_v<Header>);
static_assert(offsetof(Header, word) == word_offset && word_offset % sizeof(std::uint32_t) == 0);
static_assert(offsetof(Header, grant) == grant_offset && sizeof(Header) <= settled_offset);
static_assert(offsetof(Header, turns) == turns_offset);
static_assert(offsetof(Header, turn) + sizeof(std::uint32_t) == grant_offset);
static_assert(settled_offset + sizeof(std::uint64_t) <= name_offset);
// posix_fallocate() emulated by the C library writes the last byte: it must not be in use.
static_assert(name_offset + sizeof(std::uint32_t) + longest_name < file_size);

}  // namespace

void LastGrant::set_label(std::string_view text) noexcept {
  std::size_t size = std::min(text.size(), sizeof label);
  // A character of UTF-8 is not cut in two: 10xxxxxx continues one.
  while (size < text.size() && size > 0 &&
         (static_cast<unsigned char>(text[size]) & 0xc0U) == 0x80U) {
    --size;
  }
  label_size = static_cast<std::uint32_t>(size);
  text.copy(label, size);  // memcpy() may not be called for an empty text, which can be at null
}

std::size_t LastGrant::size_of_label() const noexcept {
  return std::min<std::size_t>(label_size & ~readers_mark, sizeof label);
}

Holder LastGrant::holder(Mode mode) const {
  Holder out;
  out.label.assign(label, size_of_label());
  out.mode = mode;
  // The client's token for a grant that was not handed on yet.
  const std::uint64_t its = mode == Mode::shared ? number + 1 : number;
  if (number < number_limit && its < number_limit) out.token = Token(its * 1024);
  return out;
}

bool Header::blank() const noexcept {
  return std::all_of(std::begin(magic), std::end(magic), [](char c) { return c == '\0'; });
}

bool Header::ours() const noexcept { return std::memcmp(magic, signature, sizeof magic) == 0; }

int read_header(int fd, Header& out) noexcept { return read_all(fd, &out, sizeof out, 0); }

int read_number(int fd, Header& out) noexcept {
  out = {};
  return read_all(fd, &out, grant_offset + offsetof(LastGrant, label), 0);
}

int read_word(int fd, std::uint32_t& out) noexcept {
  return read_all(fd, &out, sizeof out, word_offset);
}

int compare_name(int fd, std::string_view name, bool& same) noexcept {
  std::uint32_t size = 0;
  std::array<char, longest_name> found{};
  if (const int error = read_all(fd, &size, sizeof size, name_offset)) return error;
  same = size == name.size();
  if (!same) return 0;
  if (const int error = read_all(fd, found.data(), size, name_offset + sizeof size)) {
    return error;
  }
  same = std::string_view(found.data(), size) == name;
  return 0;
}

int read_name(int fd, std::string& out) {
  std::uint32_t size = 0;
  out.clear();
  if (const int error = read_all(fd, &size, sizeof size, name_offset)) return error;
  if (size > longest_name) return 0;
  out.resize(size);
  return read_all(fd, out.data(), size, name_offset + sizeof size);
}

int write_name_and_magic(int fd, std::string_view name) noexcept {
  const auto size = static_cast<std::uint32_t>(name.size());
  if (const int error = write_all(fd, &size, sizeof size, name_offset)) return error;
  if (const int error = write_all(fd, name.data(), size, name_offset + sizeof size)) {
    return error;
  }
  // Last, so that a writer that dies before leaves a blank file.
  return write_all(fd, signature, sizeof signature, 0);
}

int write_grant(int fd, const LastGrant& grant) noexcept {
  // In one write, so that whoever is killed leaves both or neither.
  struct {
    std::uint32_t unused = 0;
    std::uint32_t turn = 0;
    LastGrant grant;
  } both{.turn = static_cast<std::uint32_t>(grant.number), .grant = grant};
  const std::size_t used = sizeof both.turn + offsetof(LastGrant, label) + grant.size_of_label();
  return write_all(fd, &both.turn, used, grant_offset - off_t{sizeof both.turn});
}

int write_reader(int fd, const LastGrant& grant) noexcept {
  constexpr std::size_t behind_number = offsetof(LastGrant, acquired_at);
  const std::size_t used = offsetof(LastGrant, label) - behind_number + grant.size_of_label();
  return write_all(fd, &grant.acquired_at, used, grant_offset + off_t{behind_number});
}

int write_number(int fd, std::uint64_t number) noexcept {
  return write_all(fd, &number, sizeof number, grant_offset + offsetof(LastGrant, number));
}

int write_writer_asked_at(int fd, std::int64_t when) noexcept {
  return write_all(fd, &when, sizeof when, turns_offset + offsetof(Turns, writer_asked_at));
}

int write_permits(int fd, std::uint32_t permits) noexcept {
  return write_all(fd, &permits, sizeof permits, turns_offset + offsetof(Turns, permits));
}

}  // namespace mortise::file
