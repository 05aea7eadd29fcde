// SPDX-License-Identifier: MIT
// Goal: a key's file of any content harms nobody, and whatever is written over its records, what is
// read is a record that was written, with its own bytes, or none. Method: a file in memory, two
// records, and pieces of the input over them.
#include "base/unique_fd.hpp"
#include "file/key_page.hpp"
#include "fuzz/fuzz.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <string>

namespace {

using namespace mortise::file;
using mortise::KeyState;
using mortise::fuzz::expect;
using mortise::fuzz::Input;

struct Written {
  KeySlot slot;
  std::string bytes;
};

int empty_file() {
  static const int fd = ::memfd_create("key file", MFD_CLOEXEC);
  expect(fd >= 0 && ::ftruncate(fd, 0) == 0, "a file in memory");
  return fd;
}

void check_bytes(int fd, const KeySlot& slot, const Written* written) {
  std::string found;
  bool whole = false;
  expect(read_bytes(fd, slot, found, whole) == 0, "bytes can be read");
  expect(found.size() <= mortise::longest_outcome, "of a bounded size");
  expect(!whole || written == nullptr || found == written->bytes, "its own bytes");
}

void check(int fd, const std::array<Written, 2>* written) {
  KeyPage page;
  expect(page.read(fd) == 0, "a file can be read");
  for (const KeySlot* const slot : {page.newest(), page.before()}) {
    if (slot == nullptr) continue;
    const mortise::Record record = slot->record();
    expect(record.fingerprint.size() <= mortise::longest_fingerprint, "a short fingerprint");
    const Written* own = nullptr;
    for (std::size_t i = 0; written != nullptr && i < written->size(); ++i) {
      if ((*written)[i].slot.sequence == slot->sequence) own = &(*written)[i];
    }
    expect(written == nullptr || (own != nullptr && own->slot.run == slot->run &&
                                  own->slot.fingerprint() == slot->fingerprint()),
           "a record that was written");
    check_bytes(fd, *slot, own);
  }
  expect(page.next() > 0 || page.damaged(), "a sequence");
}

}  // namespace

// A size for each of two records, then pieces: where, how many bytes, and they. The rest is a file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const int fd = empty_file();
  std::array<Written, 2> written;
  for (std::size_t i = 0; i < written.size(); ++i) {
    Written& mine = written[i];
    const std::size_t length = std::size_t{input.byte()} * std::size_t{input.byte()};
    mine.bytes = std::string(length, static_cast<char>('a' + i));
    mine.slot.sequence = i + 1;
    mine.slot.run = 1;
    mine.slot.state = KeyState::succeeded;
    mine.slot.set_fingerprint(input.line());
    expect(write_slot(fd, mine.slot, mine.bytes) == 0, "a record is written");
  }
  check(fd, &written);
  for (int i = 0; i < 4 && !input.empty(); ++i) {
    const std::size_t offset = std::size_t{input.byte()} * 256 + input.byte();
    const std::string_view piece = input.bytes(input.byte());
    expect(::pwrite(fd, piece.data(), piece.size(), static_cast<off_t>(offset)) ==
               static_cast<ssize_t>(piece.size()),
           "a file that takes its content");
    check(fd, &written);
  }
  const std::string_view content = input.rest();
  expect(::ftruncate(fd, 0) == 0 && ::pwrite(fd, content.data(), content.size(), 0) >= 0,
         "a file that takes its content");
  check(fd, nullptr);
  return 0;
}
