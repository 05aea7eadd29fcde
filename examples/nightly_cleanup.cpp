// SPDX-License-Identifier: MIT
// Each machine starts the clean-up of the night when its own clock says so, and the clocks are not
// alike: the job is over in no time, and a machine that is a moment behind must not run it again.
// The second machine's timer fires here 0.3 s after the first one's; a night is 1.5 s long.
// usage: nightly_cleanup [url of a store that keeps names, such as redis://127.0.0.1]
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
// One try: whoever comes second finds the name taken, although the job is over.
bool run_tonight(const std::string& url, const std::string& machine) {
  mortise::Client client(url);
  mortise::Lock job = client.make_lock("nightly clean-up", {.min_hold = 1s});
  const mortise::Guard mine(job, {.wait = 0s});
  if (!mine) return false;
  std::cout << machine << " cleans up" << std::endl;
  return true;  // the guard lets go at once; the store keeps the name, also without this client
}
// [/nightly]

}  // namespace

int main(int argc, char** argv) try {
  const std::string url = argc > 1 ? argv[1] : "memory:machines";
  mortise::Client keeps_the_server(url);  // of memory:, which ends with its last client
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
