// SPDX-License-Identifier: MIT
#include "board.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <new>
#include <system_error>

namespace shop {

Board::Board(const std::filesystem::path& path, std::size_t submissions, How how)
    : submissions_(submissions) {
  const std::size_t bytes = sizeof(Page) + submissions * sizeof(std::atomic<Outcome>);
  const int extra = how == How::create ? O_CREAT | O_EXCL : 0;
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC | extra, 0600);
  void* memory = MAP_FAILED;
  if (descriptor >= 0 &&
      (how == How::join || ::ftruncate(descriptor, static_cast<off_t>(bytes)) == 0)) {
    memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  }
  const int error = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (memory == MAP_FAILED) {
    throw std::system_error(error, std::generic_category(), "map " + path.string());
  }
  page_ = how == How::create ? new (memory) Page : static_cast<Page*>(memory);
  outcomes_ = reinterpret_cast<std::atomic<Outcome>*>(page_ + 1);
  if (how == How::create) std::uninitialized_value_construct_n(outcomes_, submissions);
}

Board::~Board() { ::munmap(page_, sizeof(Page) + submissions_ * sizeof(std::atomic<Outcome>)); }

std::size_t Board::finished() const noexcept {
  std::size_t count = 0;
  for (std::size_t i = 0; i < submissions_; ++i) {
    if (outcomes_[i].load(std::memory_order_relaxed) != Outcome::open) ++count;
  }
  return count;
}

}  // namespace shop
