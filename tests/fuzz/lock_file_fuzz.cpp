// SPDX-License-Identifier: MIT
// Goal: a lock file of any content harms nobody: what is read of it is bounded, it passes for ours
// only with our signature and name, and what is written is read back. Method: a file in memory.
#include "base/unique_fd.hpp"
#include "file/file_name.hpp"
#include "file/header.hpp"
#include "fuzz/fuzz.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace {

using namespace mortise::file;
using mortise::Holder;
using mortise::Mode;
using mortise::fuzz::expect;
using mortise::fuzz::Input;

int file_with(std::string_view content) {
  static const int fd = ::memfd_create("lock file", MFD_CLOEXEC);
  expect(fd >= 0 && ::ftruncate(fd, 0) == 0, "a file in memory");
  const auto written = ::pwrite(fd, content.data(), content.size(), 0);
  expect(written == static_cast<ssize_t>(content.size()), "a file that takes its content");
  return fd;
}

void check(const Holder& holder) {
  expect(holder.label.size() <= sizeof LastGrant::label, "a short label");
  expect(holder.token.value() < std::uint64_t{1} << 63U, "a token fits a signed column");
}

void read(int fd, std::string_view content, std::string_view name) {
  Header header;
  expect(read_header(fd, header) == 0, "a file can be read");
  check(header.grant.holder());
  check(header.grant.holder(Mode::shared));
  const std::string_view magic = content.substr(0, 8);
  expect(header.ours() == (magic == std::string_view("MORTISE\1", 8)), "ours by its signature");
  expect(!header.ours() || !header.blank(), "ours or blank");
  Header number;
  expect(read_number(fd, number) == 0 && number.grant.number == header.grant.number, "a number");
  std::uint32_t word = 0;
  expect(read_word(fd, word) == 0 && word == header.word, "the word");
  bool same = false;
  expect(compare_name(fd, name, same) == 0, "a name can be read");
  // Behind its size; what lies beyond the end of the file reads as zeros.
  std::string there(content.substr(std::min<std::size_t>(content.size(), 260), name.size()));
  there.resize(name.size());
  expect(!same || there == name, "the same name", name);
}

void write(int fd, std::string_view name, std::string_view label) {
  expect(write_name_and_magic(fd, name) == 0, "a name is written");
  LastGrant grant;
  grant.number = 7;
  grant.set_label(label);
  expect(write_grant(fd, grant) == 0, "a record is written");
  Header header;
  bool same = false;
  expect(read_header(fd, header) == 0 && header.ours(), "then it is ours");
  expect(compare_name(fd, name, same) == 0 && same, "with its name", name);
  const Holder holder = header.grant.holder();
  check(holder);
  expect(label.starts_with(holder.label) && holder.token.value() != 0, "and its holder", label);
  expect(label.size() > sizeof grant.label || holder.label == label, "whole, if it fits", label);
}

}  // namespace

// Two lines, a name and a label, then the content of the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const std::string_view name = input.line().substr(0, longest_name);
  const std::string_view label = input.line();
  const std::string_view content = input.rest();
  const int fd = file_with(content);
  read(fd, content, name);
  write(fd, name, label);
  const std::string file = file_name(name);
  expect(file.size() <= 140 && file.ends_with(".lock"), "a name of a file", file);
  expect(file.find('/') == std::string::npos && (name.empty() || file.front() != '.'), "plain");
  return 0;
}
