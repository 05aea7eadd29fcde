// SPDX-License-Identifier: MIT
// The names that the statements in the table "Calls" of docs/reference.md use. reference.sh
// compiles each row as a function in the namespace below.
#pragma once

#include <mortise/clock.hpp>
#include <mortise/mortise.hpp>
#include <mortise/postgres.hpp>
#include <mortise/prometheus.hpp>
#include <mortise/redis.hpp>

#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <stop_token>
#include <string>
#include <system_error>

using namespace mortise;
using namespace std::chrono_literals;

namespace calls {

extern Client client;
extern Lock lock;
extern Lock from;
extern Lock to;
extern Guard guard;
extern Token token;
extern std::string url;
extern std::error_code ec;
extern std::function<int()> ship;
extern std::function<void()> stop_work;
extern std::function<std::string()> charge;
extern std::shared_ptr<Observer> log;
extern std::shared_ptr<Observer> metrics;
extern std::shared_ptr<::prometheus::Registry> registry;
extern std::shared_ptr<ManualClock> clock;
extern Connector tunnel;
extern pg_conn* connection;

}  // namespace calls
