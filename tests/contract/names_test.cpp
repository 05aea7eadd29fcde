// SPDX-License-Identifier: MIT
// Goal: a name is any 1 to 512 bytes, and two names never share a lock. Method: names with every
// byte, and names that a careless encoding, comparison or shortening would take for the same.
#include "support/contract_suites.hpp"

#include <set>
#include <string>
#include <vector>

namespace mortise::contract {
namespace {

/// Holds and frees a name, and looks at it from another client in between.
void expect_works(Client& one, Client& other, const std::string& name) {
  Lock lock = one.make_lock(name);
  EXPECT_EQ(lock.name(), name);
  ASSERT_TRUE(lock.try_lock()) << ::testing::PrintToString(name);
  EXPECT_FALSE(other.make_lock(name).try_lock()) << ::testing::PrintToString(name);
  if (other.capabilities().holders == Support::yes) {
    EXPECT_TRUE(other.make_lock(name).holder().has_value()) << ::testing::PrintToString(name);
  }
  EXPECT_EQ(lock.release(), Released::released) << ::testing::PrintToString(name);
}

MORTISE_TEST(Names, MayHoldEveryByte) {
  Client one = client();
  Client other = client();
  std::string all;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string name = std::string("a") + static_cast<char>(byte) + "b";
    expect_works(one, other, name);
    expect_works(one, other, std::string(1, static_cast<char>(byte)));
    all += static_cast<char>(byte);
  }
  expect_works(one, other, all);
  expect_works(one, other, all + all);
}

MORTISE_TEST(Names, HaveOneTo512Bytes) {
  Client one = client();
  Client other = client();
  expect_works(one, other, "x");
  expect_works(one, other, std::string(512, 'x'));
  expect_works(one, other, std::string(512, '\0'));
  expect_works(one, other, std::string(512, '\xff'));
  for (const std::string& bad : {std::string(), std::string(513, 'x'), std::string(65'536, '%')}) {
    try {
      static_cast<void>(one.make_lock(bad));
      ADD_FAILURE() << "a name of " << bad.size() << " bytes was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.errc(), Errc::misconfigured);
      const std::string text = error.what();
      EXPECT_NE(text.find("name"), std::string::npos) << text;
      if (!bad.empty()) {
        EXPECT_NE(text.find(std::to_string(bad.size())), std::string::npos) << text;
      }
      EXPECT_LT(text.size(), 300U) << "the message repeats the whole name";
    }
  }
}

MORTISE_TEST(Names, ThatLookAlikeNeverShareALock) {
  using namespace std::string_literals;
  std::vector<std::string> names{
      "orders/42",
      "orders/42/",
      "/orders/42",
      "orders//42",
      "orders/./42",
      "orders\\42",
      "Orders/42",
      "ORDERS/42",
      "orders/42 ",
      " orders/42",
      "orders/42\n",
      "orders/42\t",
      "orders/42\0"s,
      "orders/42\0x"s,
      "\0orders/42"s,
      "orders",
      "orders/4",
      "orders/420",
      "orders%2F42",
      "orders%2f42",
      "orders%252F42",
      "orders:42",
      "orders_42",
      "orders-42",
      ".",
      "..",
      "...",
      "./",
      "../",
      "%",
      "%%",
      "%00",
      "%h-",
      "%n",
      "*",
      "?",
      "[a]",
      "{a}",
      "{b}",
      "a",
      "a.lock",
      "a%2Elock",
      "a.",
      ".a",
      "-a",
      "~",
      "'",
      "\"",
      "`",
      "$(a)",
      "a;b",
      "a|b",
      "\xc3\xa4",
      "a\xcc\x88",
      "\xe4",
      "\xff",
      "\xff\xff",
      "\xc0\x80",
      "\0"s,
      "\0\0"s,
  };
  // Long ones: alike at the beginning, at the end, and as hashes of weak functions.
  const std::string longest(512, 'x');
  names.push_back(longest);
  for (const std::size_t different : {0U, 1U, 100U, 139U, 140U, 255U, 256U, 510U, 511U}) {
    names.push_back(longest);
    names.back()[different] = 'y';
  }
  for (const std::size_t size : {100U, 139U, 140U, 141U, 255U, 256U, 257U, 511U}) {
    names.emplace_back(size, 'x');
  }
  ASSERT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  Client one = client();
  Client other = client();
  std::vector<Lock> locks;
  for (const std::string& name : names) {
    locks.push_back(one.make_lock(name));
    EXPECT_TRUE(locks.back().try_lock())
        << ::testing::PrintToString(name) << " is held already, by another name";
  }
  for (const std::string& name : names) EXPECT_FALSE(other.make_lock(name).try_lock());
  for (Lock& lock : locks) {
    EXPECT_EQ(lock.release(), Released::released);
    EXPECT_TRUE(other.make_lock(lock.name()).try_lock());
  }
}

MORTISE_TEST(Names, AreBytesAndNotText) {
  // A string_view into the middle of something is the name, whatever follows it.
  Client one = client();
  Client other = client();
  const std::string text = "orders/42";
  Lock lock = one.make_lock(std::string_view(text).substr(0, 6));
  lock.lock();
  EXPECT_FALSE(other.make_lock("orders").try_lock());
  EXPECT_TRUE(other.make_lock("orders/42").try_lock());
  lock.unlock();
}

}  // namespace
}  // namespace mortise::contract
