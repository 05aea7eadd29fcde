// SPDX-License-Identifier: MIT
// Names of locks that lead a careless pattern, escape, path, statement or comparison astray.
#pragma once

#include <string>
#include <vector>

namespace mortise::test {

inline const std::vector<std::string>& hostile_names() {
  using namespace std::string_literals;
  static const std::vector<std::string> names{"*",
                                              "**",
                                              "a*",
                                              "?",
                                              "a?c",
                                              "[abc]",
                                              "[^a]",
                                              "a[b-c]",
                                              "\\",
                                              "\\*",
                                              "a\\",
                                              "{",
                                              "}",
                                              "{a}",
                                              "}{",
                                              "%",
                                              "%7B",
                                              "%25",
                                              "%2",
                                              "%%",
                                              "/",
                                              "//",
                                              "../up",
                                              "..",
                                              ".",
                                              "a/b",
                                              "/mortise",
                                              "'",
                                              "''",
                                              "' OR 1=1",
                                              "\"",
                                              "$1",
                                              ";DROP",
                                              "_",
                                              "a_c",
                                              "\0"s,
                                              "\0\0x"s,
                                              "a\0b"s,
                                              "\n",
                                              "a\r\nb",
                                              "\xff",
                                              "\xff\xff",
                                              "a\xff",
                                              "\xc3\xa4",
                                              "\xc3",
                                              "mortise:{",
                                              "inbox:",
                                              "abc",
                                              " ",
                                              "a b",
                                              "-1",
                                              "0",
                                              "!",
                                              "a!",
                                              "~",
                                              "lock-",
                                              std::string(512, 'x'),
                                              std::string(512, '%'),
                                              std::string(511, '{') + "}",
                                              std::string(512, '\0'),
                                              std::string(200, '/')};
  return names;
}

}  // namespace mortise::test
