// SPDX-License-Identifier: MIT
// A directory of its own as a store under test. There is no server, so nothing can be cut off,
// delayed or lost; a hold is taken away by deleting its file, that of a key by putting a copy of it
// there.
#pragma once

#include <mortise/file.hpp>

#include "file/file_name.hpp"
#include "file/wake_word.hpp"
#include "model/temporary.hpp"
#include "support/contract_backend.hpp"

#include <filesystem>
#include <memory>
#include <string>

namespace mortise::contract {

class FileStore final : public Store {
 public:
  [[nodiscard]] std::unique_ptr<Backend> backend() override {
    return file::backend("file://" + directory_.path());
  }
  void take_away(const std::string& name) override {
    std::filesystem::remove(directory_.file(file::file_name(name)));
  }
  void take_key_away(const std::string& key) override {
    const std::string file = directory_.file(file::file_name(key, Mode::once));
    std::filesystem::copy_file(file, file + ".copy");
    std::filesystem::rename(file + ".copy", file);
  }

 private:
  model::TemporaryDirectory directory_;
};

inline std::set<Quality> qualities_of_files() {
  std::set<Quality> qualities{Quality::once,       Quality::holders,          Quality::lists,
                              Quality::lists_once, Quality::lists_long_names, Quality::queues,
                              Quality::shared,     Quality::permits};
  if (file::WakeWord::can_sleep_on_both()) qualities.insert(Quality::one_wake);
  return qualities;
}

inline BackendUnderTest file_directory() {
  return {.name = "file",
          .open = [](const std::shared_ptr<Clock>&) { return std::make_unique<FileStore>(); },
          .hooks = {Hook::processes, Hook::take_away, Hook::take_key_away},
          .qualities = qualities_of_files()};
}

}  // namespace mortise::contract
