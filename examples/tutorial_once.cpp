// SPDX-License-Identifier: MIT
// A step of docs/tutorial.md: an order is charged once, even if the program is started twice or
// crashes after the charge. The bank is the file bank.txt. MORTISE_URL names the store.
// usage: tutorial_once <order> [crash]
#include <mortise/mortise.hpp>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <string>

using namespace std::chrono_literals;

namespace {

bool bank_has(const std::string& order) {
  std::ifstream bank("bank.txt");
  for (std::string line; std::getline(bank, line);) {
    if (line == "charged " + order) return true;
  }
  return false;
}

void charge_once(mortise::Client& client, const std::string& order, bool crashes) {
  // [once]
  mortise::Once charge = client.make_once("charge/" + order, {.keep = 24h, .lease = 2s});
  const mortise::Outcome outcome = charge.run([&](mortise::Run& run) {
    // An earlier run failed or died. It may have charged the order, so ask the bank first.
    const bool charged = run.number() > 1 && bank_has(order);
    if (!charged) std::ofstream("bank.txt", std::ios::app) << "charged " << order << '\n';
    if (crashes) std::_Exit(3);  // after the charge, before its result is recorded
    return "receipt of " + order;
  });
  std::cout << outcome.result() << ", from run " << outcome.number()
            << (outcome.replayed() ? ", recorded earlier\n" : "\n");
  // [/once]
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) {
    std::cerr << "usage: tutorial_once <order> [crash]\n";
    return 2;
  }
  mortise::Client client = mortise::Client::from_env();
  charge_once(client, argv[1], argc > 2 && std::string(argv[2]) == "crash");
  return 0;
} catch (const std::exception& e) {
  std::cerr << "tutorial_once: " << e.what() << '\n';
  return 2;
}
