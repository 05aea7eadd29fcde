// SPDX-License-Identifier: MIT
#include "options.hpp"

#include "board.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace shop {
namespace {

std::size_t number(const std::string& option, const std::string& text, std::size_t least,
                   std::size_t most) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    throw BadInput(option + " takes a number from " + std::to_string(least) + " to " +
                   std::to_string(most) + ", not '" + text + "'");
  }
  return value;
}

// A store inside one process cannot exclude another process.
void refuse_memory(const std::string& url) {
  std::string scheme = url.substr(0, url.find(':'));
  std::transform(scheme.begin(), scheme.end(), scheme.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (scheme == "memory") {
    throw BadInput(
        "--url memory: cannot work here: its locks are inside one process, and this example has "
        "several; try file:///tmp/locks?create=yes");
  }
}

// Reads the arguments one by one.
class Reader {
 public:
  explicit Reader(const std::vector<std::string>& arguments) : arguments_(arguments) {}
  [[nodiscard]] bool done() const { return next_ == arguments_.size(); }
  std::string option() { return arguments_[next_++]; }
  std::string value(const std::string& option) {
    if (done()) throw BadInput(option + " needs a value");
    return arguments_[next_++];
  }

 private:
  const std::vector<std::string>& arguments_;
  std::size_t next_ = 0;
};

bool take_worker_option(const std::string& option, Reader& reader, Options& options) {
  if (option == "--worker") {
    options.worker.emplace();
    options.worker->process = number(option, reader.value(option), 0, Board::most_processes - 1);
  } else if (option == "--directory" && options.worker) {
    options.worker->directory = reader.value(option);
  } else if (option == "--locks" && options.worker) {
    options.worker->locks = number(option, reader.value(option), 0, 1) == 1;
  } else {
    return false;
  }
  return true;
}

}  // namespace

Options parse_options(const std::vector<std::string>& arguments) {
  Options options;
  for (Reader reader(arguments); !reader.done();) {
    const std::string option = reader.option();
    if (option == "--orders") {
      options.orders = reader.value(option);
    } else if (option == "--url") {
      options.url = reader.value(option);
    } else if (option == "--processes") {
      options.processes = number(option, reader.value(option), 1, Board::most_processes);
    } else if (option == "--threads") {
      options.threads = number(option, reader.value(option), 1, 64);
    } else if (option == "--rate") {
      options.rate = number(option, reader.value(option), 0, 1'000'000);
    } else if (option == "--no-lock") {
      options.only_without_locks = true;
    } else if (option == "--keep") {
      options.keep = true;
    } else if (option == "--help" || option == "-h") {
      options.help = true;
    } else if (!take_worker_option(option, reader, options)) {
      throw BadInput("unknown argument '" + option + "' (--help lists them)");
    }
  }
  refuse_memory(options.url);
  return options;
}

std::vector<std::string> worker_arguments(const Options& options, const WorkerRole& role) {
  return {"--worker",    std::to_string(role.process),
          "--directory", role.directory,
          "--locks",     role.locks ? "1" : "0",
          "--orders",    options.orders,
          "--url",       options.url,
          "--processes", std::to_string(options.processes),
          "--threads",   std::to_string(options.threads),
          "--rate",      std::to_string(options.rate)};
}

const char* usage() noexcept {
  return "usage: order_processing [option...]\n"
         "\n"
         "Charges orders that were submitted twice, in several processes at once. One process is\n"
         "killed in the middle. The program does this without locks first, and then with locks.\n"
         "\n"
         "  --orders FILE    submissions: order,customer,amount_cents\n"
         "  --url URL        the store of the locks (default: a directory of this run)\n"
         "  --processes N    worker processes (4)\n"
         "  --threads N      threads in each (4)\n"
         "  --rate N         submissions per second (3000); 0 = as fast as possible\n"
         "  --no-lock        only the run without locks\n"
         "  --keep           keep the files\n"
         "\n"
         "Exit code: 0 as expected, 1 damage with locks or none without, 2 bad arguments.\n";
}

}  // namespace shop
