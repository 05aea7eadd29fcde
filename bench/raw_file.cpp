// SPDX-License-Identifier: MIT
#include "raw_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>

namespace mortise::bench {
namespace {

void check(bool good, const char* what) {
  if (!good) throw std::system_error(errno, std::generic_category(), what);
}

bool set_lock(int fd, short type) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  return ::fcntl(fd, F_OFD_SETLK, &range) == 0;
}

}  // namespace

TemporaryDirectory::TemporaryDirectory()
    : path_(std::filesystem::temp_directory_path() / "mortise-bench-XXXXXX") {
  check(::mkdtemp(path_.data()) != nullptr, "mkdtemp");
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

RawFile::RawFile(const std::string& path)
    : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR)) {
  check(fd_ >= 0, "open");
}

RawFile::~RawFile() { ::close(fd_); }

bool RawFile::try_lock() const {
  const bool locked = set_lock(fd_, F_WRLCK);
  check(locked || errno == EAGAIN || errno == EACCES, "lock");
  return locked;
}

void RawFile::unlock() const { check(set_lock(fd_, F_UNLCK), "unlock"); }

void RawFile::count() const {
  std::uint64_t counter = 0;
  check(::pread(fd_, &counter, sizeof counter, 0) >= 0, "pread");
  ++counter;
  check(::pwrite(fd_, &counter, sizeof counter, 0) == sizeof counter, "pwrite");
}

void RawFile::flush() const { check(::fdatasync(fd_) == 0, "fdatasync"); }

void write_durably(const std::string& directory, const std::string& name,
                   const std::string& bytes) {
  const int file = ::open((directory + "/" + name).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                          S_IRUSR | S_IWUSR);
  check(file >= 0, "open");
  check(::write(file, bytes.data(), bytes.size()) == std::ssize(bytes), "write");
  check(::fdatasync(file) == 0, "fdatasync");
  ::close(file);
  const int folder = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  check(folder >= 0, "open");
  check(::fsync(folder) == 0, "fsync");
  ::close(folder);
}

std::string read_whole(const std::string& path) {
  std::array<char, 4096> buffer{};
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  check(file >= 0, "open");
  const ssize_t size = ::read(file, buffer.data(), buffer.size());
  ::close(file);
  check(size >= 0, "read");
  return {buffer.data(), static_cast<std::size_t>(size)};
}

Baton raw_file_baton(const std::string& path, std::atomic<std::uint32_t>& freed) {
  const auto file = std::make_shared<RawFile>(path);
  return {.take =
              [file, &freed] {
                for (;;) {
                  // Read before the try: an unlock after it has moved the word.
                  const std::uint32_t seen = freed.load();
                  if (file->try_lock()) return;
                  futex_sleep(freed, seen, true);
                }
              },
          .give =
              [file, &freed] {
                file->unlock();
                freed.fetch_add(1);
                futex_wake_one(freed, true);
              }};
}

}  // namespace mortise::bench
