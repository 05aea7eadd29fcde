// SPDX-License-Identifier: MIT
#include "tool/tool_terminal.hpp"

#include "support/text_of.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

namespace mortise::test {
namespace {

std::string in_quotes(const std::string& text) {
  std::string quoted = "'";
  for (const char byte : text) quoted += byte == '\'' ? std::string("'\\''") : std::string(1, byte);
  return quoted + "'";
}

}  // namespace

std::string tmux_missing() {
  return std::system("command -v tmux >/dev/null 2>&1") == 0 ? "" : "tmux";
}

Terminal::Terminal(const std::string& command) {
  // Without the configuration of the machine, and with a scroll-back that loses nothing.
  tmux("-f /dev/null new-session -d -x 80 -y 24 " + in_quotes(command));
}

Terminal::~Terminal() { tmux("kill-server 2>/dev/null"); }

void Terminal::type(const std::string& text) { tmux("send-keys -l -- " + in_quotes(text)); }

void Terminal::press(const std::string& key) { tmux("send-keys " + key); }

void Terminal::resize(int columns, int lines) {
  tmux("resize-window -x " + std::to_string(columns) + " -y " + std::to_string(lines));
}

std::vector<std::string> Terminal::screen() const {
  std::vector<std::string> lines;
  std::istringstream in(tmux("capture-pane -p"));
  for (std::string line; std::getline(in, line);) {
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(line);
  }
  return lines;
}

int Terminal::scrolled() const {
  return std::atoi(tmux("display-message -p '#{history_size}'").c_str());
}

std::string Terminal::tmux(const std::string& arguments) const {
  const std::string out = directory_.file("out");
  // The socket is in the folder of this object, so that the server is this object's alone. UTF-8
  // and the environment's locale are the test's own choice, not the machine's.
  const std::string command = "env -u TMUX LC_ALL=C.UTF-8 tmux -S " +
                              in_quotes(directory_.file("socket")) + " " + arguments + " > " +
                              in_quotes(out);
  const int status = std::system(command.c_str());
  EXPECT_TRUE(status == 0 || arguments.starts_with("kill-server")) << "tmux " << arguments;
  return text_of(out);
}

}  // namespace mortise::test
