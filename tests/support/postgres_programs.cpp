// SPDX-License-Identifier: MIT
#include "support/postgres_programs.hpp"

#include "support/text_of.hpp"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace mortise::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* server_user = "postgres";
constexpr std::chrono::seconds program_limit{60};

bool is_root() { return ::geteuid() == 0; }

// Debian keeps each version in a folder of its own, and none of them in the PATH.
std::vector<std::string> folders() {
  std::vector<std::pair<int, std::string>> versions;
  std::error_code none;
  for (const auto& one : fs::directory_iterator("/usr/lib/postgresql", none)) {
    versions.emplace_back(std::atoi(one.path().filename().c_str()), one.path() / "bin");
  }
  std::sort(versions.rbegin(), versions.rend());
  std::vector<std::string> out;
  out.reserve(versions.size());
  for (const auto& [version, folder] : versions) out.push_back(folder);
  const char* const path = std::getenv("PATH");
  std::istringstream rest(path != nullptr ? path : "/usr/bin");
  for (std::string folder; std::getline(rest, folder, ':');) out.push_back(folder);
  return out;
}

void give(const std::string& path) {
  const passwd* const user = ::getpwnam(server_user);
  if (user == nullptr) throw std::runtime_error("no user named postgres");
  if (::chown(path.c_str(), user->pw_uid, user->pw_gid) != 0) {
    throw std::system_error(errno, std::generic_category(), path);
  }
}

}  // namespace

std::string postgres_program(const std::string& name) {
  for (const std::string& folder : folders()) {
    std::string program = folder;
    program.append(1, '/').append(name);
    if (::access(program.c_str(), X_OK) == 0) return program;
  }
  return {};
}

model::Process start_as_server_user(const std::string& log, const std::string& program,
                                    const std::vector<std::string>& arguments,
                                    const std::string& input) {
  // Files are opened by this user, before it changes. The signal of the parent's death is forgotten
  // at that change, and must be asked for after it.
  std::vector<std::string> all{
      "-c", R"(cd / && input=$1 && shift && exec "$@" <"$input" >>"$0" 2>&1)", log, input};
  if (is_root()) {
    all.insert(all.end(), {"setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups",
                           "--pdeathsig=KILL", "--"});
  }
  all.push_back(program);
  all.insert(all.end(), arguments.begin(), arguments.end());
  return model::Process::spawn("/bin/sh", all);
}

void run_as_server_user(const std::string& log, const std::string& program,
                        const std::vector<std::string>& arguments, const std::string& input) {
  model::Process process = start_as_server_user(log, program, arguments, input);
  const auto exit = process.wait_for(program_limit);
  if (exit && exit->code == 0 && !exit->killed()) return;
  throw std::runtime_error(program + (exit ? " failed:\n" : " does not end:\n") + text_of(log));
}

void give_to_server_user(const std::string& from, const std::string& to) {
  if (from.empty()) {
    fs::create_directory(to);
  } else {
    fs::copy(from, to, fs::copy_options::recursive);
  }
  fs::permissions(to, fs::perms::owner_all);
  if (!is_root()) return;
  give(to);
  for (const auto& one : fs::recursive_directory_iterator(to)) give(one.path());
}

void give_file_to_server_user(const std::string& from, const std::string& to) {
  fs::copy_file(from, to, fs::copy_options::overwrite_existing);
  fs::permissions(to, fs::perms::owner_read | fs::perms::owner_write);
  if (is_root()) give(to);
}

}  // namespace mortise::test
