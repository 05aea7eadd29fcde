// SPDX-License-Identifier: MIT
// What `Once` does, as work to be timed: the first run of a key that nobody has run, and the replay
// of one that is done; and beside the first, a lock with the same result written by hand.
#pragma once

#include "case.hpp"

#include <functional>
#include <initializer_list>
#include <string>

namespace mortise::bench {

/// As long as a receipt: 200 bytes.
[[nodiscard]] const std::string& receipt();

inline constexpr double goal_of_first_run = 1.15;
inline constexpr double goal_of_replay = 1.10;

using Work = std::function<void()>;

/// Each call runs a new key to its end; the result is the receipt.
[[nodiscard]] Work first_run(const std::string& url);
/// Each call is told the receipt of one key, which has been run.
[[nodiscard]] Work replay(const std::string& url);
/// Each call locks a new name, writes the receipt under it, and unlocks.
[[nodiscard]] Work locked_write(const std::string& url,
                                std::function<void(const std::string& name)> write);

/// @return the p50 of `work` in microseconds, each timed alone.
[[nodiscard]] double p50_of(int samples, const Work& work);

/// @return a reason to leave the cases of a backend out; empty where it has keys with a memory.
/// @param url of no server that exists: nothing connects
[[nodiscard]] std::string why_not_once(const std::string& url);

/// Names both cases of a backend, and adds them in each mode.
void add_once(Cases& cases, std::initializer_list<Mode> modes, const std::string& backend,
              const std::string& left_out, Case first, Case replay);

// Each backend's own.
void add_redis_once(Cases& cases);
void add_zookeeper_once(Cases& cases);
void add_postgres_once(Cases& cases);

}  // namespace mortise::bench
