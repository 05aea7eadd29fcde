// SPDX-License-Identifier: MIT
#include "plain_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <system_error>

namespace shop {
namespace {

// FNV-1a detects a torn line. It does not protect against an attacker.
std::string checksum(std::string_view text) {
  std::uint32_t hash = 2166136261U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  std::array<char, 9> out{};
  std::snprintf(out.data(), out.size(), "%08x", hash);
  return out.data();
}

}  // namespace

PlainFile::PlainFile(const std::filesystem::path& path, Writes writes)
    : path_(path.string()),
      descriptor_(::open(
          path.c_str(),
          O_RDWR | O_CREAT | O_CLOEXEC | (writes == Writes::at_the_end ? O_APPEND : 0), 0600)) {
  if (descriptor_ < 0) fail("open");
}

PlainFile::~PlainFile() { ::close(descriptor_); }

void PlainFile::fail(const char* what) const {
  throw std::system_error(errno, std::generic_category(), std::string(what) + " " + path_);
}

std::string PlainFile::read() const {
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t got =
        ::pread(descriptor_, buffer.data(), buffer.size(), static_cast<off_t>(text.size()));
    if (got < 0) fail("read");
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

void PlainFile::write(std::string_view text) {
  if (::lseek(descriptor_, 0, SEEK_SET) != 0) fail("seek in");
  while (!text.empty()) {
    const ssize_t put = ::write(descriptor_, text.data(), text.size());
    if (put < 0) fail("write");
    text.remove_prefix(static_cast<std::size_t>(put));
  }
}

void PlainFile::truncate(std::size_t size) {
  if (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0) fail("truncate");
}

std::string seal(const std::string& words) { return words + " #" + checksum(words) + "\n"; }

std::optional<std::string> unseal(std::string_view line) {
  const std::size_t mark = line.rfind(" #");
  if (mark == std::string_view::npos) return std::nullopt;
  const std::string_view words = line.substr(0, mark);
  if (line.substr(mark + 2) != checksum(words)) return std::nullopt;
  return std::string(words);
}

}  // namespace shop
