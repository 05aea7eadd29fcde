// SPDX-License-Identifier: MIT
#include "support/postgres_template.hpp"

#include "model/temporary.hpp"
#include "support/postgres_programs.hpp"
#include "support/text_of.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace mortise::test {
namespace {

namespace fs = std::filesystem;

// Small pieces of log, so that a copy is small.
const std::vector<std::string> initdb_options{
    "--username=postgres", "--auth=trust",      "--encoding=UTF8", "--locale=C.UTF-8",
    "--no-sync",           "--no-instructions", "--wal-segsize=1"};

// One command a line, as a server without clients reads them. The application may connect, and no
// more; who owns the database may make schemas in it.
std::string commands() {
  const std::string login = std::string(" login password '") + postgres_password + "'\n";
  const std::string database = postgres_database;
  return std::string("create role ") + postgres_owner + login +  //
         "create role " + postgres_application + login +         //
         "create database " + database + " owner " + postgres_owner + "\n" +
         "revoke temporary on database " + database + " from public\n";
}

// What the copy depends on: another recipe makes another template.
std::string recipe() {
  std::string text = fs::canonical(postgres_program("initdb")).string() + "\n";
  for (const std::string& option : initdb_options) text += option + "\n";
  return text + commands();
}

// Tests of several processes come at once.
class OneAtATime {
 public:
  explicit OneAtATime(const std::string& path)
      : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (fd_ < 0 || ::flock(fd_, LOCK_EX) != 0) {
      throw std::system_error(errno, std::generic_category(), path);
    }
  }
  OneAtATime(const OneAtATime&) = delete;
  OneAtATime& operator=(const OneAtATime&) = delete;
  ~OneAtATime() { ::close(fd_); }

 private:
  int fd_;
};

void make(const std::string& to) {
  const model::TemporaryDirectory directory(std::uintmax_t{256} << 20U);
  // The server's user walks through.
  fs::permissions(directory.path(), fs::perms::others_exec, fs::perm_options::add);
  const std::string data = directory.file("data");
  const std::string log = directory.file("log");
  give_to_server_user({}, data);
  std::vector<std::string> options = initdb_options;
  options.push_back("--pgdata=" + data);
  run_as_server_user(log, postgres_program("initdb"), options);
  const std::string input = directory.file("commands");
  std::ofstream(input) << commands();
  run_as_server_user(log, postgres_program("postgres"),
                     {"--single", "-D", data, "-c", "fsync=off", "postgres"}, input);
  if (const std::string words = text_of(log); words.find("ERROR:") != std::string::npos) {
    throw std::runtime_error("the cluster of the tests cannot be made:\n" + words);
  }
  fs::copy(data, to, fs::copy_options::recursive);
}

}  // namespace

std::string postgres_template() {
  const std::string place = MORTISE_BIN_DIR "/postgres";
  fs::create_directories(place);
  const OneAtATime alone(place + "/lock");
  std::string data = place + "/data";
  // The recipe is written last: a template without it is half a one.
  if (text_of(place + "/recipe") == recipe()) return data;
  fs::remove(place + "/recipe");
  fs::remove_all(data);
  make(data);
  std::ofstream(place + "/recipe") << recipe();
  return data;
}

}  // namespace mortise::test
