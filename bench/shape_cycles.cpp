// SPDX-License-Identifier: MIT
#include "shape_cycles.hpp"

#include <mortise/mortise.hpp>

#include "figure.hpp"
#include "turns.hpp"

#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

namespace mortise::bench {
namespace {

constexpr int turns = 150;
constexpr std::size_t samples_of_a_turn = 20;
constexpr std::uint32_t permits = 20;
constexpr double goal = 1.10;

template <class Cycle>
Sampler sampler(int batch, Cycle cycle) {
  return [batch, cycle] {
    std::vector<double> samples(samples_of_a_turn);
    for (double& sample : samples) sample = timed(batch, cycle) / 1000;
    return samples;
  };
}

Sampler lock_cycle(const std::string& url, int batch, mortise::Mode mode) {
  const auto client = std::make_shared<Client>(url);
  const auto lock = std::make_shared<Lock>(client->make_lock(
      mode == mortise::Mode::shared ? "bench/read" : "bench/owned", {.mode = mode}));
  return sampler(batch, [client, lock] {
    lock->lock();
    lock->unlock();
  });
}

Sampler permit_cycle(const std::string& url, int batch) {
  const auto client = std::make_shared<Client>(url);
  const auto gate = std::make_shared<Semaphore>(client->make_semaphore("bench/gate", permits));
  return sampler(batch, [client, gate] {
    if (!gate->acquire()) throw std::runtime_error("a free permit was not given");
  });
}

}  // namespace

void add_shape_cycles(Cases& cases, std::initializer_list<Mode> modes, const std::string& backend,
                      int batch, const std::function<Bed(Mode)>& make) {
  const auto beside_an_owner = [&](const std::string& shape, const auto& ours) {
    add(cases, modes,
        {.name = "shapes/" + backend + "_" + shape + "_cycle",
         .unit = "us",
         .both =
             [make, batch, ours](Mode mode) {
               const Bed bed = make(mode);
               return in_turn(
                   mode, turns, [&] { return ours(bed.url); },
                   [&] { return lock_cycle(bed.url, batch, mortise::Mode::exclusive); });
             },
         .goal = goal});
  };
  beside_an_owner("shared", [batch](const std::string& url) {
    return lock_cycle(url, batch, mortise::Mode::shared);
  });
  beside_an_owner("permit", [batch](const std::string& url) { return permit_cycle(url, batch); });
}

}  // namespace mortise::bench
