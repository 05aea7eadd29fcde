// SPDX-License-Identifier: MIT
// The kinds of store, each in a file of its own.
#pragma once

#include "simulation/scene/stand.hpp"

#include <string_view>

namespace simulation {

inline constexpr std::size_t memory_specials = 5;
[[nodiscard]] std::unique_ptr<Stand> make_memory_stand(const Plan& plan, Room& room);

/// @param mistake of the scripts, if there is one of that name
inline constexpr std::size_t redis_specials = 54;
[[nodiscard]] std::unique_ptr<Stand> make_redis_stand(const Plan& plan, Room& room,
                                                      std::string_view mistake);
inline constexpr std::size_t redis_sentinel_specials = 12;
/// Of the kinds `sentinel` and `replicas`.
[[nodiscard]] std::unique_ptr<Stand> make_redis_sentinel_stand(const Plan& plan, Room& room,
                                                               std::string_view mistake);
inline constexpr std::size_t redis_cluster_specials = 10;
[[nodiscard]] std::unique_ptr<Stand> make_redis_cluster_stand(const Plan& plan, Room& room,
                                                              std::string_view mistake);
inline constexpr std::size_t redlock_specials = 21;
[[nodiscard]] std::unique_ptr<Stand> make_redlock_stand(const Plan& plan, Room& room,
                                                        std::string_view mistake);

inline constexpr std::size_t zookeeper_specials = 21;
[[nodiscard]] std::unique_ptr<Stand> make_zookeeper_stand(const Plan& plan, Room& room);

inline constexpr std::size_t postgres_specials = 29;
[[nodiscard]] std::unique_ptr<Stand> make_postgres_stand(const Plan& plan, Room& room,
                                                         std::string_view mistake);

}  // namespace simulation
