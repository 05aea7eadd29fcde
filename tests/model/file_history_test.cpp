// SPDX-License-Identifier: MIT
// Goal: the file backend keeps its promises while its processes are killed and stopped. Method: the
// suite of histories, on a directory of its own a run. What was acknowledged can be forgotten there
// only by deleting a lock's file.
#include <mortise/file.hpp>

#include "file/file_name.hpp"
#include "model/history_suite.hpp"
#include "model/temporary.hpp"

#include <filesystem>

namespace mortise::model {
namespace {

class Directory final : public contract::Store {
 public:
  [[nodiscard]] std::unique_ptr<Backend> backend() override {
    return file::backend("file://" + directory_.path());
  }
  [[nodiscard]] bool has(contract::Hook hook) const override {
    return hook == contract::Hook::processes || hook == contract::Hook::take_away;
  }
  void take_away(const std::string& name) override {
    std::filesystem::remove(directory_.file(file::file_name(name)));
  }

 private:
  TemporaryDirectory directory_;
};

HistoryBackend file_backend() {
  return {.under_test = {.name = "file", .open = [](const std::shared_ptr<Clock>&) {
                           return std::make_unique<Directory>();
                         }}};
}

}  // namespace

MORTISE_HISTORIES(File, file_backend());

}  // namespace mortise::model
