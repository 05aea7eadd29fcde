// SPDX-License-Identifier: MIT
// A process that takes locks with one library, Mortise or a peer. Its argument is a URL. It reads
// commands from standard input, one per line, and answers each in one line. ../beside.py starts it.
#include "worker.hpp"

#include <exception>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>

int main(int count, char** arguments) {
  try {
    if (count != 2) throw std::invalid_argument("usage: worker URL");
    peers::Worker worker(arguments[1]);
    std::cout << "ready" << std::endl;
    for (std::string line; std::getline(std::cin, line);) {
      std::istringstream order(line);
      std::cout << worker.obey(order) << std::endl;
    }
    return 0;
  } catch (const std::exception& error) {
    std::cout << "error " << error.what() << std::endl;
    return 1;
  }
}
