// SPDX-License-Identifier: MIT
// Runs a fuzz target without libFuzzer: the files of its corpus, then some thousands of mutations
// of them, drawn from MORTISE_SEED. Arguments: a folder, or files, which are replayed and not
// mutated.
#include "fuzz/fuzz.hpp"
#include "fuzz/mutation.hpp"
#include "model/dice.hpp"
#include "model/seed.hpp"
#include "support/contract_process.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

namespace mortise::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr int mutations = 20'000;
constexpr std::chrono::milliseconds enough{1'500};

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The input that is run now, where the parent sees it if the process does not survive it.
struct Latest {
  std::size_t size = 0;
  std::array<char, std::size_t{64} << 10U> bytes{};
};
using SharedLatest = contract::Shared<Latest>;

void run_one(const SharedLatest& latest, const std::string& input) {
  latest->size = std::min(input.size(), latest->bytes.size());
  input.copy(latest->bytes.data(), latest->size);
  // A copy of exactly its size: what reads beyond its end is found by the address sanitizer.
  const std::vector<std::uint8_t> bytes(input.begin(), input.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

std::vector<fs::path> files_of(const std::vector<fs::path>& arguments) {
  std::vector<fs::path> files;
  for (const fs::path& path : arguments) {
    if (!fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    for (const auto& entry : fs::directory_iterator(path)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

int run(const SharedLatest& latest, const std::vector<fs::path>& arguments) {
  std::vector<std::string> corpus;
  for (const fs::path& file : files_of(arguments)) {
    corpus.push_back(content_of(file));
    run_one(latest, corpus.back());
  }
  std::cout << corpus.size() << " files" << std::endl;
  if (corpus.empty()) return EXIT_FAILURE;
  if (!std::all_of(arguments.begin(), arguments.end(),
                   [](const fs::path& path) { return fs::is_directory(path); })) {
    return EXIT_SUCCESS;
  }
  model::Dice dice(model::test_seed());
  std::cout << std::flush;
  const auto end = std::chrono::steady_clock::now() + enough;
  int done = 0;
  for (; done < mutations && std::chrono::steady_clock::now() < end; ++done) {
    run_one(latest, mutated(corpus, dice));
  }
  std::cout << done << " mutations" << std::endl;
  return EXIT_SUCCESS;
}

/// Runs it all in a child, so that whatever ends that, its last input is kept.
int run_in_child(const fs::path& program, const std::vector<fs::path>& arguments) {
  const SharedLatest latest;
  const pid_t child = ::fork();
  if (child == 0) return run(latest, arguments);
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return EXIT_FAILURE;
  if (status == 0) return EXIT_SUCCESS;
  const fs::path last = program.string() + ".last";
  std::ofstream(last, std::ios::binary)
      .write(latest->bytes.data(), static_cast<std::streamsize>(latest->size));
  std::cerr << "the input is in " << last << '\n';
  return EXIT_FAILURE;
}

}  // namespace
}  // namespace mortise::fuzz

int main(int count, char** values) {
  return mortise::fuzz::run_in_child(values[0], {values + 1, values + count});
}
