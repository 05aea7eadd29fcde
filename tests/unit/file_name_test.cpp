// SPDX-License-Identifier: MIT
// Goal: lock names of any bytes become file names that are safe, and no two become the same one.
// Method: known answers, an own decoder, and random names.
#include "file/file_name.hpp"

#include "model/seed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>

namespace mortise::file {
namespace {

constexpr std::string_view suffix = ".lock";

// The inverse of the escape, written from its description.
std::string decoded(const std::string& file) {
  std::string out;
  for (std::size_t i = 0; i < file.size() - suffix.size(); ++i) {
    if (file[i] != '%') {
      out += file[i];
      continue;
    }
    out += static_cast<char>(std::stoi(file.substr(i + 1, 2), nullptr, 16));
    i += 2;
  }
  return out;
}

bool safe(const std::string& file) {
  const auto fine = [](char c) {
    const std::string_view others = "._-%";
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           others.find(c) != std::string_view::npos;
  };
  return file.front() != '.' && file.size() <= 140 && file.ends_with(suffix) &&
         std::all_of(file.begin(), file.end(), fine);
}

TEST(FileNameTest, KnownAnswers) {
  EXPECT_EQ(file_name("orders"), "orders.lock");
  EXPECT_EQ(file_name("orders/42"), "orders%2F42.lock");
  EXPECT_EQ(file_name("a.b"), "a.b.lock");
  EXPECT_EQ(file_name("."), "%2E.lock");
  EXPECT_EQ(file_name(".."), "%2E..lock");
  EXPECT_EQ(file_name("../../etc/passwd"), "%2E.%2F..%2Fetc%2Fpasswd.lock");
  EXPECT_EQ(file_name("50%"), "50%25.lock");
  EXPECT_EQ(file_name("%h-"), "%25h-.lock");
  EXPECT_EQ(file_name(std::string_view("a\0b", 3)), "a%00b.lock");
  EXPECT_EQ(file_name("caf\xc3\xa9"), "caf%C3%A9.lock");
}

TEST(FileNameTest, EveryByteIsSafeAndReversible) {
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    for (const std::string& name : {std::string{c}, std::string{'x', c}}) {
      EXPECT_TRUE(safe(file_name(name))) << byte;
      EXPECT_EQ(decoded(file_name(name)), name) << byte;
    }
  }
}

TEST(FileNameTest, LongNamesAreHashedWithFnv1a) {
  EXPECT_EQ(file_name(std::string(135, 'a')), std::string(135, 'a') + ".lock");
  EXPECT_EQ(file_name(std::string(300, 'a')), "%h-EF07127BE1F9B7DDBA57177FCE2A24D9.lock");
  // What counts is the length of the escape.
  EXPECT_TRUE(file_name(std::string(50, '/')).starts_with("%h-"));
  EXPECT_TRUE(safe(file_name(std::string(longest_name, '/'))));
}

TEST(FileNameTest, RandomNamesDoNotMeet) {
  std::mt19937_64 random(model::test_seed());
  std::map<std::string, std::string> seen;
  for (int i = 0; i < 20000; ++i) {
    // Few characters, so that names are alike.
    const std::string_view alphabet = "%.h-2F/aA";
    std::string name(1 + random() % (i % 2 == 0 ? 5 : 150), '\0');
    for (char& c : name) c = alphabet[random() % alphabet.size()];
    const std::string file = file_name(name);
    ASSERT_TRUE(safe(file)) << name;
    ASSERT_EQ(seen.emplace(file, name).first->second, name);
  }
}

}  // namespace
}  // namespace mortise::file
