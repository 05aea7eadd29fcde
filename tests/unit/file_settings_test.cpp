// SPDX-License-Identifier: MIT
// Goal: file: URLs are read, or refused without a word that may be a password. Method: one URL at a
// time; no file is touched.
#include <mortise/error.hpp>

#include "file/file_backend.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mortise::file {
namespace {

std::string refusal_of(std::string_view url) {
  try {
    static_cast<void>(Settings::parse(url));
  } catch (const Error& error) {
    EXPECT_EQ(error.errc(), Errc::misconfigured) << url;
    return error.what();
  }
  ADD_FAILURE() << "accepted: " << url;
  return "";
}

TEST(FileSettings, AreWhatTheUrlSays) {
  const Settings settings = Settings::parse("file:///var/lib/%6cocks?create=yes&flush=yes");
  EXPECT_EQ(settings.directory, "/var/lib/locks");
  EXPECT_TRUE(settings.create);
  EXPECT_TRUE(settings.flush);
  EXPECT_FALSE(Settings::parse("file:/a").create);
}

TEST(FileSettings, NeverQuoteAPassword) {
  for (const char* url : {"file://me:secret@/a", "file://me:a?secret@/b", "file://me:a?secret=1@/b",
                          "file://me:a/b?create=secret@c"}) {
    EXPECT_EQ(refusal_of(url).find("secret"), std::string::npos) << refusal_of(url);
  }
}

}  // namespace
}  // namespace mortise::file
