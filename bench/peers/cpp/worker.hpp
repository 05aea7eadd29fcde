// SPDX-License-Identifier: MIT
// One client of a lock library, used as a program uses it, under commands. The workers in ../java,
// ../python and ../node accept the same commands.
#pragma once

#include "peer.hpp"

#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

namespace peers {

/// Names consist of a prefix and a number, so that the names of all sides have the same length.
class Worker {
 public:
  explicit Worker(const std::string& url);
  /// @param order a command and its arguments (worker.cpp has the list)
  /// @return the answer, in one line
  std::string obey(std::istream& order);

 private:
  std::string cycles(std::istream& order);
  std::string tries(std::istream& order);
  std::string threads(std::istream& order);
  std::string hold(std::istream& order);
  std::string drop(std::istream& order);
  std::string refused(std::istream& order);
  std::string rivals(std::istream& order);
  std::string contend(std::istream& order);
  std::string relay(std::istream& order);

  std::unique_ptr<Peer> peer_;
  std::vector<std::unique_ptr<Handle>> held_;
  std::vector<std::unique_ptr<Peer>> rivals_;
};

}  // namespace peers
