// SPDX-License-Identifier: MIT
// A process of another lock library, on Java or Python. It does what it is told, over a unix
// socket, one line an order: `take`, `try MILLISECONDS`, `free`, ...; and answers each in one line.
#pragma once

#include "model/process.hpp"
#include "model/temporary.hpp"

#include <chrono>
#include <functional>
#include <string>

namespace mortise::test {

/// Starts with the object, ends with it. Not thread-safe, and bound to its thread as each process.
class Stranger {
 public:
  /// @param name for who reads that it does not come
  /// @param start begins the process, which is to connect to the socket whose path it is given
  Stranger(const std::string& name,
           const std::function<model::Process(const std::string& meeting)>& start);
  Stranger(Stranger&& other) noexcept;
  Stranger& operator=(Stranger&& other) noexcept;
  ~Stranger();

  void send(const std::string& order) const;
  /// @return its answer to the oldest order; empty where none came in time.
  [[nodiscard]] std::string answer(std::chrono::milliseconds within = std::chrono::seconds(60));
  /// Both.
  [[nodiscard]] std::string ask(const std::string& order);
  void kill() { process_.kill(); }
  /// For who stops it, or wants to know when it died.
  [[nodiscard]] model::Process& process() noexcept { return process_; }
  /// Readable when an answer is there.
  [[nodiscard]] int descriptor() const noexcept { return fd_; }

 private:
  int fd_ = -1;
  std::string received_;
  model::Process process_;
};

}  // namespace mortise::test
