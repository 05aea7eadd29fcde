// SPDX-License-Identifier: MIT
// Goal: scratch text keeps its memory, and is there for whoever needs it, whenever. Method:
// one use within another, and a use by what a thread destroys last.
#include "base/scratch.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace mortise::base {
namespace {

struct FirstScratch;
struct SecondScratch;

TEST(Scratch, IsEmptyAndKeepsItsMemory) {
  const char* before = nullptr;
  {
    Scratch<FirstScratch> text;
    EXPECT_TRUE(text.text().empty());
    text.text().assign(1000, 'x');
    before = text.text().data();
  }
  Scratch<FirstScratch> text;
  EXPECT_TRUE(text.text().empty());
  EXPECT_GE(text.text().capacity(), 1000U);
  EXPECT_EQ(text.text().data(), before);
}

TEST(Scratch, IsTheCallersAloneWhereOneCallIsWithinAnother) {
  Scratch<FirstScratch> outer;
  outer.text() = "of the outer call, and too long to be in the object itself";
  const std::string copy = outer.text();
  {
    Scratch<FirstScratch> inner;
    EXPECT_TRUE(inner.text().empty());
    inner.text() = "of the inner call, and too long to be in the object itself";
    Scratch<SecondScratch> other;
    EXPECT_TRUE(other.text().empty());
  }
  EXPECT_EQ(outer.text(), copy);
}

TEST(Scratch, IsThereForWhatAThreadDestroysLast) {
  static std::string seen;
  struct Late {
    ~Late() {
      Scratch<FirstScratch> text;
      text.text().append(1000, 'x');
      seen = text.text();
    }
  };
  std::thread([] {
    thread_local const Late late;  // before the string, so that it goes after it
    static_cast<void>(late);
    Scratch<FirstScratch> text;
    text.text().append(1000, 'y');
  }).join();
  EXPECT_EQ(seen, std::string(1000, 'x'));
}

}  // namespace
}  // namespace mortise::base
