// SPDX-License-Identifier: MIT
#include "command.hpp"

#include "status.hpp"
#include "text.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace mortise::tool {
namespace {

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> environment_with(const std::vector<std::string>& added) {
  std::vector<std::string> all;
  for (const std::string& one : added) {
    // An environment cannot contain a NUL, and the part before the NUL would be a different value.
    if (one.find('\0') == std::string::npos) all.push_back(one);
  }
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view variable(*each);
    const std::string_view name = variable.substr(0, variable.find('=') + 1);
    const bool ours = std::any_of(added.begin(), added.end(),
                                  [&](const std::string& one) { return one.starts_with(name); });
    if (!ours || name.empty()) all.emplace_back(variable);
  }
  return all;
}

bool is_child(idtype_t kind, pid_t number) noexcept {
  siginfo_t info{};
  return ::waitid(kind, static_cast<id_t>(number), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/// From here on, only calls that are safe in a child of a process with threads (signal-safety(7)).
void write_error(const char* text) noexcept {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, ::strlen(text));
}

[[noreturn]] void become(char* const* words, char* const* environment, const char* shown,
                         const Outputs& outputs, int go, pid_t parent,
                         const sigset_t& mask) noexcept {
  ::setpgid(0, 0);
  // Before getppid(): so either this call or the next line notices a parent that has died.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(internal);
  if (outputs.out >= 0) ::dup2(outputs.out, STDOUT_FILENO);
  if (outputs.err >= 0) ::dup2(outputs.err, STDERR_FILENO);
  char byte = 0;
  ssize_t size = 0;
  do {
    size = ::read(go, &byte, 1);
  } while (size < 0 && errno == EINTR);
  if (size != 1) ::_exit(internal);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::execvpe(words[0], words, environment);
  const int error = errno;
  const char* const reason = ::strerrordesc_np(error);
  write_error("mortise: cannot run ");
  write_error(shown);
  write_error(": ");
  write_error(reason != nullptr ? reason : "unknown error");
  const bool missing = error == ENOENT || error == ENOTDIR;
  write_error(missing ? "\nmortise: Correct the path of the program, or set PATH.\n"
                      : "\nmortise: Check that the program is an executable file.\n");
  ::_exit(missing ? not_found : not_executable);
}

}  // namespace

Command::Command(const std::vector<std::string>& words, const std::vector<std::string>& added,
                 const Outputs& outputs, const sigset_t& mask) {
  std::vector<std::string> own_words = words;
  std::vector<std::string> environment = environment_with(added);
  const std::vector<char*> argv = pointers_to(own_words);
  const std::vector<char*> envp = pointers_to(environment);
  const std::string shown = printable(own_words.at(0));
  int go[2];
  must(::pipe2(go, O_CLOEXEC), "pipe");
  const Descriptor read_end(go[0]);
  go_ = Descriptor(go[1]);
  const pid_t parent = ::getpid();
  // NOLINTNEXTLINE(cppcoreguidelines-prefer-member-initializer): only behind the pipe
  pid_ = must(::fork(), "fork");
  if (pid_ == 0) {
    go_.reset();  // else the child would wait for its own end of the pipe
    become(argv.data(), envp.data(), shown.c_str(), outputs, read_end.get(), parent, mask);
  }
  ::setpgid(pid_, pid_);  // the child does the same; the first call takes effect
}

void Command::begin() noexcept {
  [[maybe_unused]] const ssize_t written = ::write(go_.get(), "", 1);
  go_.reset();
}

bool signal_group(pid_t group, int number) noexcept {
  return group > 0 && is_child(P_PGID, group) && ::kill(-group, number) == 0;
}

void Command::signal(int number) const noexcept {
  // The command may have left its group, in which its children remain.
  const bool led = is_child(P_PID, pid_) && ::getpgid(pid_) == pid_;
  signal_group(pid_, number);
  if (!led && is_child(P_PID, pid_)) ::kill(pid_, number);
}

}  // namespace mortise::tool
