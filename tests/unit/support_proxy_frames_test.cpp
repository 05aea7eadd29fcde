// SPDX-License-Identifier: MIT
// Goal: the proxy cuts a connection into whole commands and replies. Method: streams whose frames
// are known, in pieces of every size.
#include "support/proxy_frames.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::test {
namespace {

TEST(ProxyFramesTest, AreCutWhereverTheBytesAreSplit) {
  const std::vector<std::string> frames{
      "+OK\r\n",    "-ERR no\r\n",      ":12\r\n",
      "$-1\r\n",    "*-1\r\n",          "*0\r\n",
      "$0\r\n\r\n", "$4\r\n\r\n*3\r\n", "*2\r\n*2\r\n:1\r\n$1\r\nx\r\n*1\r\n+\r\n"};
  std::string all;
  for (const std::string& frame : frames) all += frame;
  for (std::size_t piece = 1; piece <= all.size(); ++piece) {
    ProxyFrames cutter(ProxyFrames::Of::replies);
    std::vector<std::string> got;
    for (std::size_t at = 0; at < all.size(); at += piece) {
      cutter.feed(std::string_view(all).substr(at, piece));
      while (auto frame = cutter.next()) got.push_back(*std::move(frame));
    }
    EXPECT_EQ(got, frames) << "in pieces of " << piece;
    EXPECT_FALSE(cutter.opaque());
  }
}

TEST(ProxyFramesTest, WhatIsNoRespIsOpaque) {
  for (const std::string bytes : {"\x16\x03\x01 hello", "*x\r\n", "PING\r\n", "*1\r\n:1\r\n",
                                  "*1\r\n$99999999999\r\n", "*1\r\n$\r\n"}) {
    ProxyFrames cutter(ProxyFrames::Of::requests);
    cutter.feed(bytes);
    EXPECT_EQ(cutter.next(), bytes);
    EXPECT_TRUE(cutter.opaque());
    EXPECT_FALSE(cutter.next());
  }
}

TEST(ProxyFramesTest, TheFirstWordTellsWhatItIs) {
  EXPECT_EQ(ProxyFrames::first_word("*2\r\n$4\r\nPing\r\n$1\r\nx\r\n"), "PING");
  EXPECT_EQ(ProxyFrames::first_word("+message\r\n"), "");
  EXPECT_EQ(ProxyFrames::first_word("*0\r\n"), "");
  EXPECT_EQ(ProxyFrames::elements("*3\r\n$7\r\nmessage\r\n"), 3U);
}

}  // namespace
}  // namespace mortise::test
