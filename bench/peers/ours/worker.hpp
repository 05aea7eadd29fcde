// SPDX-License-Identifier: MIT
// Mortise's side of the comparison with its peers: one client, used as a program uses it, that
// obeys orders. java/Worker.java takes the same ones.
#pragma once

#include <mortise/mortise.hpp>

#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

namespace mortise::bench {

/// Names are made of a prefix and a number, so that all sides' are of one length.
class Worker {
 public:
  explicit Worker(std::string url);
  /// @param order a word and what it needs (worker.cpp has the list)
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

  std::string url_;
  Client client_;
  std::vector<Lock> held_;
  std::vector<std::unique_ptr<Client>> rivals_;
};

}  // namespace mortise::bench
