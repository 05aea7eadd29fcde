// SPDX-License-Identifier: MIT
// Reads and writes the header. The order of writes is the crash safety: the signature comes last.
#include "file/header.hpp"

#include "file/file_name.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <type_traits>

namespace mortise::file {
namespace {

// The last byte is the version. The numbers behind it are in the machine's own byte order: the
// files of one directory are used by one kernel.
constexpr char signature[8] = {'M', 'O', 'R', 'T', 'I', 'S', 'E', '\1'};
constexpr off_t record_offset = 16;
constexpr off_t name_offset = 256;

static_assert(std::is_trivially_copyable_v<Header> && std::is_standard_layout_v<Header>);
static_assert(offsetof(Header, word) == word_offset && word_offset % sizeof(std::uint32_t) == 0);
static_assert(offsetof(Header, record) == record_offset && sizeof(Header) <= name_offset);
// posix_fallocate() emulated by the C library writes the last byte: it must not be in use.
static_assert(name_offset + sizeof(std::uint32_t) + longest_name < file_size);

// Not pread() and pwrite() of the C library: they are cancellation points, where a thread that is
// cancelled would be unwound out of the library; and that costs two atomic operations a call.
ssize_t read_at(int fd, void* to, std::size_t size, off_t offset) noexcept {
#ifdef __LP64__
  return ::syscall(SYS_pread64, fd, to, size, offset);
#else
  return ::pread(fd, to, size, offset);
#endif
}

ssize_t write_at(int fd, const void* from, std::size_t size, off_t offset) noexcept {
#ifdef __LP64__
  return ::syscall(SYS_pwrite64, fd, from, size, offset);
#else
  return ::pwrite(fd, from, size, offset);
#endif
}

int read_all(int fd, void* to, std::size_t size, off_t offset) noexcept {
  std::memset(to, 0, size);
  auto* bytes = static_cast<char*>(to);
  while (size > 0) {
    const ssize_t got = read_at(fd, bytes, size, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) return 0;
    bytes += got;
    offset += got;
    size -= static_cast<std::size_t>(got);
  }
  return 0;
}

int write_all(int fd, const void* from, std::size_t size, off_t offset) noexcept {
  const auto* bytes = static_cast<const char*>(from);
  while (size > 0) {
    const ssize_t put = write_at(fd, bytes, size, offset);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    if (put == 0) return EIO;
    bytes += put;
    offset += put;
    size -= static_cast<std::size_t>(put);
  }
  return 0;
}

}  // namespace

void Record::set_label(std::string_view text) noexcept {
  std::size_t size = std::min(text.size(), sizeof label);
  // A character of UTF-8 is not cut in two: 10xxxxxx continues one.
  while (size < text.size() && size > 0 &&
         (static_cast<unsigned char>(text[size]) & 0xc0U) == 0x80U) {
    --size;
  }
  label_size = static_cast<std::uint32_t>(size);
  text.copy(label, size);  // memcpy() may not be called for an empty text, which can be at null
}

Holder Record::holder() const {
  Holder out;
  out.label.assign(label, std::min<std::size_t>(label_size, sizeof label));
  // The client's token for a grant that was not handed on yet.
  if (number < number_limit) out.token = Token(number * 1024);
  return out;
}

bool Header::blank() const noexcept {
  return std::all_of(std::begin(magic), std::end(magic), [](char c) { return c == '\0'; });
}

bool Header::ours() const noexcept { return std::memcmp(magic, signature, sizeof magic) == 0; }

int read_header(int fd, Header& out) noexcept { return read_all(fd, &out, sizeof out, 0); }

int read_number(int fd, Header& out) noexcept {
  out = {};
  return read_all(fd, &out, record_offset + sizeof out.record.number, 0);
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
  if (const int error = read_all(fd, found.data(), size, name_offset + off_t{sizeof size})) {
    return error;
  }
  same = std::string_view(found.data(), size) == name;
  return 0;
}

int write_name_and_magic(int fd, std::string_view name) noexcept {
  const auto size = static_cast<std::uint32_t>(name.size());
  if (const int error = write_all(fd, &size, sizeof size, name_offset)) return error;
  if (const int error = write_all(fd, name.data(), size, name_offset + off_t{sizeof size})) {
    return error;
  }
  // Last, so that a writer that dies before leaves a blank file.
  return write_all(fd, signature, sizeof signature, 0);
}

int write_record(int fd, const Record& record) noexcept {
  const std::size_t used = offsetof(Record, label) + record.label_size;
  return write_all(fd, &record, used, record_offset);
}

}  // namespace mortise::file
