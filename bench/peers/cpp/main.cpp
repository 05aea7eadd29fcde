// SPDX-License-Identifier: MIT
// A process that takes locks by one library, Mortise or a peer: it is given a URL, and then orders,
// one a line, on its standard input; it answers each in one line. ../beside.py starts it.
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
