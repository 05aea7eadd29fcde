// SPDX-License-Identifier: MIT
// Goal: what is written of a key is read back, what is half written is seen, and of two records the
// right one stands. Method: a file in memory.
#include "base/unique_fd.hpp"
#include "file/key_page.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <string>

namespace mortise::file {
namespace {

class FileKeyPageTest : public testing::Test {
 protected:
  int fd() const { return fd_.get(); }
  KeySlot put(std::uint64_t sequence, const std::string& bytes) const {
    KeySlot slot{.sequence = sequence,
                 .run = sequence * 10,
                 .number = 7,
                 .keep_until = -8,
                 .attempt = {.client_high = 1, .client_low = 2, .sequence = 3},
                 .state = KeyState::succeeded};
    slot.set_fingerprint("print");
    EXPECT_EQ(write_slot(fd(), slot, bytes), 0);
    return slot;
  }
  void turn(off_t at) const {
    char byte = 0;
    ASSERT_EQ(::pread(fd(), &byte, 1, at), 1);
    byte = static_cast<char>(byte ^ 1);
    ASSERT_EQ(::pwrite(fd(), &byte, 1, at), 1);
  }
  KeyPage& read() {
    EXPECT_EQ(page_.read(fd()), 0);
    return page_;
  }

 private:
  base::UniqueFd fd_ = base::UniqueFd::open([] { return ::memfd_create("key", MFD_CLOEXEC); });
  KeyPage page_;
};

TEST_F(FileKeyPageTest, AnEmptyFileRemembersNothing) {
  EXPECT_EQ(read().newest(), nullptr);
  EXPECT_EQ(read().before(), nullptr);
  EXPECT_FALSE(read().damaged());
  EXPECT_EQ(read().next(), 1U);
}

TEST_F(FileKeyPageTest, TheNewerOfTwoStands) {
  for (std::uint64_t sequence = 1; sequence < 6; ++sequence) {
    put(sequence, std::to_string(sequence));
    ASSERT_NE(read().newest(), nullptr);
    EXPECT_EQ(read().newest()->sequence, sequence);
    EXPECT_EQ(read().newest()->run, sequence * 10);
    EXPECT_EQ(read().next(), sequence + 1);
    ASSERT_EQ(read().before() != nullptr, sequence > 1);
    if (sequence > 1) {
      EXPECT_EQ(read().before()->sequence, sequence - 1);
    }
  }
  const mortise::Record record = read().newest()->record();
  EXPECT_EQ(record.fingerprint, "print");
  EXPECT_EQ(record.number, 7U);
  EXPECT_EQ(read().newest()->keep_until, -8);
  EXPECT_EQ(read().newest()->attempt.sequence, 3U);
}

TEST_F(FileKeyPageTest, AnyBitThatTurnsIsSeen) {
  put(1, "old");
  put(2, std::string(200, 'b'));
  for (off_t at = 0; at < 512; ++at) {
    turn(2560 + at);  // where even records lie
    ASSERT_NE(read().newest(), nullptr);
    EXPECT_EQ(read().newest()->sequence, 1U) << at;
    turn(2560 + at);
  }
  EXPECT_EQ(read().newest()->sequence, 2U);
}

// Whatever part of a record gets to the disk, and over whatever was there.
TEST_F(FileKeyPageTest, ARecordThatIsTornAnywhereIsNone) {
  constexpr std::size_t size = sizeof(KeySlot);
  constexpr off_t place = 2560;
  for (const bool over_another : {false, true}) {
    std::array<char, size> old{};
    std::array<char, size> fresh{};
    if (over_another) put(2, std::string(427, 'b'));
    ASSERT_EQ(::pread(fd(), old.data(), size, place) >= 0, true);
    put(3, std::string(427, 'c'));
    put(4, std::string(427, 'd'));
    ASSERT_EQ(::pread(fd(), fresh.data(), size, place), static_cast<ssize_t>(size));
    for (const bool begins : {true, false}) {
      for (std::size_t written = 0; written < size; ++written) {
        const std::size_t from = begins ? 0 : size - written;
        ASSERT_EQ(::pwrite(fd(), old.data(), size, place), static_cast<ssize_t>(size));
        ASSERT_EQ(::pwrite(fd(), fresh.data() + from, written, place + static_cast<off_t>(from)),
                  static_cast<ssize_t>(written));
        ASSERT_NE(read().newest(), nullptr);
        ASSERT_EQ(read().newest()->sequence, 3U) << written << " bytes";
      }
    }
    ASSERT_EQ(::pwrite(fd(), fresh.data(), size, place), static_cast<ssize_t>(size));
    ASSERT_EQ(read().newest()->sequence, 4U);
    ASSERT_EQ(::ftruncate(fd(), 0), 0);
  }
}

TEST_F(FileKeyPageTest, BytesAreToldFromOthers) {
  for (const std::size_t size : {0U, 427U, 428U, 1000U, 65536U}) {
    const KeySlot slot = put(size + 1, std::string(size, 'x'));
    std::string found;
    bool whole = false;
    ASSERT_EQ(read_bytes(fd(), slot, found, whole), 0);
    EXPECT_TRUE(whole);
    EXPECT_TRUE(found == std::string(size, 'x'));
    if (size < 1000) continue;
    const off_t base = 4096 + ((size + 1) % 2 == 1 ? 65536 : 0);
    for (const std::size_t at : {std::size_t{0}, size / 2, size - 1}) {
      turn(base + static_cast<off_t>(at));
      ASSERT_EQ(read_bytes(fd(), slot, found, whole), 0);
      EXPECT_FALSE(whole) << size << " at " << at;
      turn(base + static_cast<off_t>(at));
    }
    // Of the record before, whose place they take.
    const KeySlot later = put(size + 3, std::string(size, 'y'));
    ASSERT_EQ(read_bytes(fd(), slot, found, whole), 0);
    EXPECT_FALSE(whole);
    ASSERT_EQ(read_bytes(fd(), later, found, whole), 0);
    EXPECT_TRUE(whole);
  }
}

TEST_F(FileKeyPageTest, WhatTheDiskHasIsSettled) {
  const KeySlot first = put(1, "a");
  EXPECT_FALSE(read().settled(first));
  ASSERT_EQ(write_settled(fd(), 1), 0);
  EXPECT_TRUE(read().settled(first));
  const KeySlot second = put(2, "b");
  EXPECT_TRUE(read().settled(first));
  EXPECT_FALSE(read().settled(second));
  EXPECT_FALSE(read().damaged());
}

TEST_F(FileKeyPageTest, ASettledRecordThatIsGoneIsDamage) {
  put(1, "a");
  put(2, "b");
  ASSERT_EQ(write_settled(fd(), 2), 0);
  EXPECT_FALSE(read().damaged());
  turn(2560 + 100);
  EXPECT_TRUE(read().damaged());
  EXPECT_EQ(read().next(), 3U);
}

TEST_F(FileKeyPageTest, RecordsThatDoNotFollowEachOtherAreNotNeighbours) {
  put(2, "b");
  put(5, "e");
  EXPECT_EQ(read().newest()->sequence, 5U);
  EXPECT_EQ(read().before(), nullptr);
}

TEST_F(FileKeyPageTest, TheRecordsLeaveTheRestOfThePageAlone) {
  const std::string name(2048, 'n');
  ASSERT_EQ(write_name_and_magic(fd(), name), 0);
  put(1, std::string(65536, 'x'));
  put(2, std::string(65536, 'x'));
  ASSERT_EQ(write_settled(fd(), 2), 0);
  bool same = false;
  EXPECT_EQ(compare_name(fd(), name, same), 0);
  EXPECT_TRUE(same);
  EXPECT_TRUE(read().ours());
  std::uint32_t word = 1;
  EXPECT_EQ(read_word(fd(), word), 0);
  EXPECT_EQ(word, 0U);
}

}  // namespace
}  // namespace mortise::file
