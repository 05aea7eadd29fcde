// SPDX-License-Identifier: MIT
// Goal: what is written into a lock file is read back, nothing else passes for it, and hostile
// content harms nobody. Method: a file in memory.
#include "base/unique_fd.hpp"
#include "file/header.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>

namespace mortise::file {
namespace {

class FileHeaderTest : public testing::Test {
 protected:
  int fd() const { return fd_.get(); }
  Header read() const {
    Header header;
    EXPECT_EQ(read_header(fd(), header), 0);
    return header;
  }

 private:
  base::UniqueFd fd_ = base::UniqueFd::open([] { return ::memfd_create("header", MFD_CLOEXEC); });
};

TEST_F(FileHeaderTest, AnEmptyFileIsBlank) {
  EXPECT_TRUE(read().blank());
  EXPECT_FALSE(read().ours());
  std::uint32_t word = 1;
  EXPECT_EQ(read_word(fd(), word), 0);
  EXPECT_EQ(word, 0U);
}

TEST_F(FileHeaderTest, WhatIsWrittenIsReadBack) {
  LastGrant grant;
  grant.number = 7;
  grant.acquired_at = 8;
  grant.pid = 9;
  grant.set_label("host:9");
  ASSERT_EQ(write_name_and_magic(fd(), "orders"), 0);
  ASSERT_EQ(write_grant(fd(), grant), 0);
  const Header header = read();
  EXPECT_TRUE(header.ours());
  EXPECT_EQ(header.grant.number, 7U);
  EXPECT_EQ(header.grant.acquired_at, 8U);
  EXPECT_EQ(header.grant.pid, 9U);
  EXPECT_EQ(header.grant.holder().label, "host:9");
  EXPECT_EQ(header.grant.holder().token.value(), 7U * 1024U);
}

TEST_F(FileHeaderTest, NoWriteTouchesTheWord) {
  const std::uint32_t word = 0x12345678;
  ASSERT_EQ(::pwrite(fd(), &word, sizeof word, word_offset), 4);
  ASSERT_EQ(write_name_and_magic(fd(), "orders"), 0);
  LastGrant grant;
  grant.set_label(std::string(500, 'x'));
  ASSERT_EQ(write_grant(fd(), grant), 0);
  std::uint32_t found = 0;
  ASSERT_EQ(read_word(fd(), found), 0);
  EXPECT_EQ(found, word);
  EXPECT_TRUE(read().ours());
}

TEST_F(FileHeaderTest, AnOwnersGrantIsItsTurn) {
  LastGrant grant;
  grant.number = (std::uint64_t{3} << 32U) + 7;
  ASSERT_EQ(write_grant(fd(), grant), 0);
  EXPECT_EQ(read().turn, 7U);
  EXPECT_FALSE(read().grant.shared());
  ASSERT_EQ(write_number(fd(), grant.number + 1), 0);
  EXPECT_EQ(read().turn, 7U) << "a number was drawn, and nobody had the name";
  EXPECT_EQ(read().grant.number, grant.number + 1);
}

TEST_F(FileHeaderTest, AReaderWritesAllButTheNumber) {
  LastGrant grant;
  grant.number = 7;
  grant.set_label("owner");
  ASSERT_EQ(write_grant(fd(), grant), 0);
  LastGrant reader;
  reader.number = 99;
  reader.acquired_at = 8;
  reader.pid = 9;
  reader.set_label("a reader");
  reader.label_size |= LastGrant::readers_mark;
  ASSERT_EQ(write_reader(fd(), reader), 0);
  const Header found = read();
  EXPECT_EQ(found.turn, 7U);
  EXPECT_EQ(found.grant.number, 7U);
  EXPECT_EQ(found.grant.acquired_at, 8U);
  EXPECT_EQ(found.grant.pid, 9U);
  EXPECT_TRUE(found.grant.shared());
  const Holder holder = found.grant.holder(Mode::shared);
  EXPECT_EQ(holder.label, "a reader");
  EXPECT_EQ(holder.mode, Mode::shared);
  EXPECT_EQ(holder.token.value(), 8U * 1024U) << "the one behind the last owner's";
  EXPECT_EQ(found.grant.holder().token.value(), 7U * 1024U);
}

TEST_F(FileHeaderTest, NamesAreComparedWhole) {
  const std::string longest(2048, 'n');
  ASSERT_EQ(write_name_and_magic(fd(), longest), 0);
  bool same = false;
  EXPECT_EQ(compare_name(fd(), longest, same), 0);
  EXPECT_TRUE(same);
  std::string other = longest;
  other.back() = 'm';
  EXPECT_EQ(compare_name(fd(), other, same), 0);
  EXPECT_FALSE(same);
  EXPECT_EQ(compare_name(fd(), longest.substr(1), same), 0);
  EXPECT_FALSE(same);
}

TEST_F(FileHeaderTest, ForeignContentIsNotOurs) {
  ASSERT_EQ(::pwrite(fd(), "#!/bin/sh\n", 10, 0), 10);
  EXPECT_FALSE(read().blank());
  EXPECT_FALSE(read().ours());
}

TEST_F(FileHeaderTest, AnotherVersionIsNotOurs) {
  ASSERT_EQ(write_name_and_magic(fd(), "orders"), 0);
  ASSERT_EQ(::pwrite(fd(), "\2", 1, 7), 1);
  EXPECT_FALSE(read().ours());
}

TEST_F(FileHeaderTest, HostileRecordsAreBounded) {
  LastGrant grant;
  grant.number = ~std::uint64_t{0};
  grant.label_size = 0xffffffff;
  std::memset(grant.label, 'x', sizeof grant.label);
  EXPECT_EQ(grant.holder().label.size(), sizeof grant.label);
  EXPECT_EQ(grant.holder().token, Token());
  EXPECT_EQ(grant.holder(Mode::shared).token, Token());
}

TEST_F(FileHeaderTest, LabelsAreCutBetweenCharacters) {
  LastGrant grant;
  grant.set_label(std::string(127, 'a') + "\xc3\xa9");  // the last character begins at byte 127
  EXPECT_EQ(grant.holder().label, std::string(127, 'a'));
  grant.set_label(std::string(126, 'a') + "\xc3\xa9");
  EXPECT_EQ(grant.holder().label, std::string(126, 'a') + "\xc3\xa9");
}

// An empty text may have no address, which memcpy() must not be handed even for no bytes: only the
// sanitizers see that.
TEST_F(FileHeaderTest, NoLabelIsALabel) {
  LastGrant grant;
  grant.set_label("host:9");
  grant.set_label({});
  EXPECT_EQ(grant.holder().label, "");
  ASSERT_EQ(write_grant(fd(), grant), 0);
  EXPECT_EQ(read().grant.holder().label, "");
}

}  // namespace
}  // namespace mortise::file
