// SPDX-License-Identifier: MIT
// Locks and unlocks a free name on the Redis server of a URL. The second argument is the number of
// cycles. callgrind counts the instructions of two such runs: their difference is the cost of the
// cycles alone.
#include <mortise/mortise.hpp>
#include <mortise/redis.hpp>

#include <cstdlib>

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  mortise::Client client(mortise::redis::backend(argv[1]));
  mortise::Lock lock = client.make_lock("cycle");
  for (long left = std::strtol(argv[2], nullptr, 10); left > 0; --left) {
    lock.lock();
    lock.unlock();
  }
  return 0;
}
