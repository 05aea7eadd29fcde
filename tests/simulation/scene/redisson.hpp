// SPDX-License-Identifier: MIT
// A stranger in a run: a process with Redisson's RLock (its scripts, its channel, as of 3.2x),
// which excludes ours under `interop=redisson`.
#pragma once

#include "simulation/scene/judge.hpp"
#include "simulation/world/room.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace simulation {

class Redisson {
 public:
  /// What it has to know of the run.
  struct Around {
    std::function<bool()> goes_on;  ///< whether to take another lock
    std::function<Nanos()> quiet;   ///< for how long nothing has befallen anybody
    /// Of how many releases of a name the server has told Redisson's waiters.
    std::function<std::uint64_t(std::size_t name)> releases_told;
    /// How many locks of a name any Redisson has taken: whoever of them is first has it, which is
    /// their own race.
    std::function<std::uint64_t&(std::size_t name)> taken;
  };
  Redisson(Room& room, Judge& judge, Process& process, std::size_t names, Around around);
  /// Locks and unlocks; on a thread of the process.
  void live();

 private:
  static constexpr Nanos lease = 3s;
  static constexpr Nanos patience = 3s;
  /// Each release of ours is kept for those of Redisson's who listen: one of them is in time.
  static constexpr std::uint64_t most_in_vain = 24;
  /// RedissonLock.tryLockInnerAsync and RedissonLock.unlockInnerAsync.
  static constexpr const char* lock_script =
      "if ((redis.call('exists', KEYS[1]) == 0) or (redis.call('hexists', KEYS[1], ARGV[2]) == 1)) "
      "then "
      "redis.call('hincrby', KEYS[1], ARGV[2], 1); redis.call('pexpire', KEYS[1], ARGV[1]); "
      "return nil; end; return redis.call('pttl', KEYS[1]);";
  static constexpr const char* unlock_script =
      "if (redis.call('hexists', KEYS[1], ARGV[3]) == 0) then return nil; end; "
      "local counter = redis.call('hincrby', KEYS[1], ARGV[3], -1); "
      "if (counter > 0) then redis.call('pexpire', KEYS[1], ARGV[2]); return 0; "
      "else redis.call('del', KEYS[1]); redis.call('publish', KEYS[2], ARGV[1]); return 1; end; "
      "return nil;";

  struct Wire;
  std::optional<Nanos> lock(Wire& commands, Wire& inbox, std::size_t name);
  void unlock(Wire& commands, const std::string& key);

  Room& room_;
  Judge& judge_;
  Process& process_;
  const std::size_t names_;
  const Around around_;
  const std::string uuid_;
  int threads_ = 1;
  std::string owner_;  // "<uuid>:<thread>"
};

}  // namespace simulation
