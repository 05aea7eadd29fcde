// SPDX-License-Identifier: MIT
#include "support/redis_version.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace mortise::test {
namespace {

int version_of_program() {
  FILE* const told = ::popen("redis-server --version", "re");
  if (told == nullptr) return 0;
  std::string words;
  for (int c = 0; (c = std::fgetc(told)) != EOF;) words += static_cast<char>(c);
  ::pclose(told);
  const std::size_t at = words.find("v=");
  return at == std::string::npos ? 0 : std::atoi(words.c_str() + at + 2);
}

}  // namespace

int redis_major_version() {
  static const int version = version_of_program();
  return version;
}

}  // namespace mortise::test
