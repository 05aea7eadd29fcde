// SPDX-License-Identifier: MIT
// Goal: an administrator sees readers and permits as well as owners. Method: names that are held in
// each way, and in several at once.
#include <mortise/client.hpp>
#include <mortise/file.hpp>

#include "integration/file_sharing_fixture.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace mortise::file {
namespace {

constexpr std::uint32_t three = 3;

class FileListingTest : public FileSharingTest {
 protected:
  static std::vector<std::string> listed(User& user, std::size_t limit = 10,
                                         Mode mode = Mode::exclusive) {
    std::vector<std::string> names;
    std::string cursor;
    do {
      const auto listing = std::make_shared<Listing>("", cursor, limit, mode);
      user.backend().catalog()->list(listing);
      EXPECT_FALSE(listing->failure());
      const NamePage& page = listing->page();
      EXPECT_LE(page.names.size(), limit);
      names.insert(names.end(), page.names.begin(), page.names.end());
      cursor = page.cursor;
    } while (!cursor.empty());
    return names;
  }
  static std::vector<HolderEntry> holders(User& user, Mode mode = Mode::exclusive,
                                          std::size_t limit = 10) {
    const auto look = std::make_shared<QueueLook>("a", limit, mode);
    user.backend().catalog()->queue(look);
    EXPECT_FALSE(look->failure());
    return look->queue().holders;
  }
  using Names = std::vector<std::string>;
};

TEST_F(FileListingTest, WhatIsReadIsHeld) {
  const auto mine = user();
  const auto other = user();
  const auto hold = read(*mine);
  const auto beside = read(*other);
  ASSERT_TRUE(hold && beside);
  for (User* const each : {mine.get(), other.get()}) {
    EXPECT_EQ(listed(*each), Names{"a"});
    const auto seen = holders(*each);
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_EQ(seen[0].mode, Mode::shared);
    EXPECT_EQ(seen[0].token.value(), hold->number * 1024);
    EXPECT_FALSE(seen[0].age) << "the number is not of its moment";
  }
  mine->release(*hold);
  EXPECT_EQ(listed(*mine), Names{"a"});
  other->release(*beside);
  EXPECT_EQ(listed(*mine), Names{});
  EXPECT_TRUE(holders(*mine).empty());
}

// As of two long names with one hash.
TEST_F(FileListingTest, PermitsInAnotherNamesFileAreRefused) {
  const auto mine = user();
  ASSERT_TRUE(take(*mine, Mode::permit, three));
  std::filesystem::copy_file(directory() + "/" + file_name("a", Mode::permit),
                             directory() + "/" + file_name("b", Mode::permit));
  const auto look = std::make_shared<QueueLook>("b", 10, Mode::permit);
  mine->backend().catalog()->queue(look);
  EXPECT_EQ(look->failure().code, Errc::protocol) << look->failure().text;
  EXPECT_NE(look->failure().text.find("another lock name"), std::string::npos);
}

TEST_F(FileListingTest, AnOwnerThatReadsBesideIsAnOwner) {
  const auto mine = user();
  const auto other = user();
  const auto owned = write(*mine);
  ASSERT_TRUE(owned);
  const auto kept = take(*mine, Mode::shared, 0, owned->attempt);
  ASSERT_TRUE(kept);
  for (User* const each : {mine.get(), other.get()}) {
    const auto seen = holders(*each);
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_EQ(seen[0].mode, Mode::exclusive);
    EXPECT_EQ(seen[0].token.value(), owned->number * 1024);
  }
  const Attempt refused = request(*other, Mode::exclusive, false);
  other->backend().acquire(refused);
  ASSERT_TRUE(refused->holder());
  EXPECT_EQ(refused->holder()->mode, Mode::exclusive);
  mine->release(*owned);
  const auto seen = holders(*other);
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].mode, Mode::shared);
}

TEST_F(FileListingTest, EachPermitThatIsHeldIsAHolder) {
  const auto mine = user();
  const auto other = user();
  const auto first = take(*mine, Mode::permit, three);
  const auto second = take(*other, Mode::permit, three);
  ASSERT_TRUE(first && second);
  const auto seen = holders(*mine, Mode::permit);
  ASSERT_EQ(seen.size(), 2U);
  for (const HolderEntry& each : seen) EXPECT_EQ(each.mode, Mode::permit);
  EXPECT_EQ(seen[0].token.value(), second->number * 1024) << "who came last";
  EXPECT_EQ(holders(*mine, Mode::permit, 1).size(), 1U);
  EXPECT_EQ(listed(*mine, 10, Mode::permit), Names{"a"}) << "one name, however many permits";
  mine->release(*first);
  EXPECT_EQ(holders(*mine, Mode::permit).size(), 1U);
  EXPECT_EQ(listed(*mine, 10, Mode::permit), Names{"a"});
  other->release(*second);
  EXPECT_TRUE(holders(*mine, Mode::permit).empty());
  EXPECT_EQ(listed(*mine, 10, Mode::permit), Names{});
}

// Their files are two, with those of other names in between.
TEST_F(FileListingTest, ALockAndASemaphoreOfItsNameAreListedApart) {
  const auto mine = user();
  const auto between = mine->try_lock("a.m");
  const auto lock = write(*mine);
  const auto permit = take(*mine, Mode::permit, three);
  ASSERT_TRUE(between && lock && permit);
  EXPECT_EQ(listed(*mine), (Names{"a", "a.m"}));
  EXPECT_EQ(listed(*mine, 1), (Names{"a", "a.m"}));
  EXPECT_EQ(listed(*mine, 1, Mode::permit), Names{"a"});
  EXPECT_EQ(holders(*mine).size(), 1U);
  EXPECT_EQ(holders(*mine, Mode::permit).size(), 1U);
  mine->release(*lock);
  EXPECT_EQ(listed(*mine), Names{"a.m"});
  EXPECT_TRUE(holders(*mine).empty());
  EXPECT_EQ(holders(*mine, Mode::permit).size(), 1U);
  mine->release(*permit);
  EXPECT_TRUE(holders(*mine, Mode::permit).empty());
}

// Whoever has a key forgotten, or mends its record, locks the file as a runner does.
TEST_F(FileListingTest, AKeyThatIsLockedButNotRunIsNotListed) {
  const auto mine = user();
  const std::string path = directory() + "/" + file_name("a", Mode::once);
  Client client(backend("file:" + directory()));
  client.make_once("a").run([] {});
  const base::UniqueFd locked =
      base::UniqueFd::open([&] { return ::open(path.c_str(), O_RDWR | O_CLOEXEC); });
  bool got = false;
  ASSERT_EQ(try_lock_bytes(locked.get(), owned_bytes, ByteLock::exclusive, got), 0);
  ASSERT_TRUE(got);
  EXPECT_EQ(listed(*mine, 10, Mode::once), Names{});
  EXPECT_TRUE(holders(*mine, Mode::once).empty());
}

}  // namespace
}  // namespace mortise::file
