// SPDX-License-Identifier: MIT
// Each machine starts the nightly clean-up by its own clock, and the clocks differ. The job takes
// no time at all, and a machine whose clock is slow must not run it again. Here the timer of the
// second machine fires 0.3 s after the timer of the first, and a night lasts 1.5 s. usage:
// nightly_cleanup [url of a store that has min_hold, such as redis://127.0.0.1]
#include <mortise/mortise.hpp>

#include <array>
#include <chrono>
#include <exception>
#include <iostream>
#include <string>
#include <thread>

namespace {

using namespace std::chrono_literals;

// [nightly]
// Tries once. The second machine finds the name taken, although the job is over.
bool run_tonight(const std::string& url, const std::string& machine) {
  mortise::Client client(url);
  mortise::Lock job = client.make_lock("nightly clean-up", {.min_hold = 1s});
  const mortise::Guard mine(job, {.wait = 0s});
  if (!mine) return false;
  std::cout << machine << " cleans up" << std::endl;
  return true;  // unlocks; the store reserves the name for the rest of the second
}
// [/nightly]

}  // namespace

int main(int argc, char** argv) try {
  const std::string url = argc > 1 ? argv[1] : "memory:machines";
  mortise::Client keeps_the_server(url);  // a memory: server ends with its last client
  const std::array<std::string, 2> machines{"ada", "grace"};
  int runs = 0;
  for (int night = 0; night < 2; ++night) {
    for (const std::string& machine : machines) {
      runs += run_tonight(url, machine) ? 1 : 0;
      std::this_thread::sleep_for(machine == machines.front() ? 300ms : 1200ms);
    }
  }
  std::cout << runs << " runs in two nights\n";
  return runs == 2 ? 0 : 1;
} catch (const std::exception& e) {
  std::cerr << "nightly_cleanup: " << e.what() << "\n";
  return 2;
}
