// SPDX-License-Identifier: MIT
// Opens a URL: the one file that knows every backend of this build.
#include <mortise/backend.hpp>
#include <mortise/client.hpp>
#include <mortise/file.hpp>
#include <mortise/memory.hpp>
#ifdef MORTISE_WITH_POSTGRES
#include <mortise/postgres.hpp>
#endif
#ifdef MORTISE_WITH_REDIS
#include <mortise/redis.hpp>
#include <mortise/redlock.hpp>
#endif
#ifdef MORTISE_WITH_ZOOKEEPER
#include <mortise/zookeeper.hpp>
#endif

#include "base/schemes.hpp"
#include "runtime/client/raise.hpp"

#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>

namespace mortise {
namespace {

using Factory = decltype(base::Scheme::open);

// What a component has where this build has it.
#ifdef MORTISE_WITH_POSTGRES
constexpr Factory postgres_factory = &postgres::backend;
#else
constexpr Factory postgres_factory = nullptr;
#endif
#ifdef MORTISE_WITH_REDIS
constexpr Factory redis_factory = &redis::backend;
constexpr Factory redlock_factory = &redlock::backend;
#else
constexpr Factory redis_factory = nullptr;
constexpr Factory redlock_factory = nullptr;
#endif
#ifdef MORTISE_WITH_ZOOKEEPER
constexpr Factory zookeeper_factory = &zookeeper::backend;
#else
constexpr Factory zookeeper_factory = nullptr;
#endif

constexpr base::Scheme schemes[] = {
    {"memory", &memory::backend},
    {"file", &file::backend},
    {"postgresql", postgres_factory, "MORTISE_WITH_POSTGRES"},
    {"postgres", postgres_factory, "MORTISE_WITH_POSTGRES"},
    {"redis", redis_factory, "MORTISE_WITH_REDIS"},
    {"rediss", redis_factory, "MORTISE_WITH_REDIS"},
    {"redis+unix", redis_factory, "MORTISE_WITH_REDIS"},
    {"redis+sentinel", redis_factory, "MORTISE_WITH_REDIS"},
    {"rediss+sentinel", redis_factory, "MORTISE_WITH_REDIS"},
    {"redis+cluster", redis_factory, "MORTISE_WITH_REDIS"},
    {"rediss+cluster", redis_factory, "MORTISE_WITH_REDIS"},
    {"redlock", redlock_factory, "MORTISE_WITH_REDIS"},
    {"redlocks", redlock_factory, "MORTISE_WITH_REDIS"},
    {"redlock+unix", redlock_factory, "MORTISE_WITH_REDIS"},
    {"zookeeper", zookeeper_factory, "MORTISE_WITH_ZOOKEEPER"},
    {"zookeeper+tls", zookeeper_factory, "MORTISE_WITH_ZOOKEEPER"},
};

}  // namespace

Client::Client(std::string_view url, ClientOptions options)
    : Client(base::scheme_of(url, schemes).open(url), std::move(options)) {}

std::optional<Client> Client::open(std::string_view url, ClientOptions options, Failure& failure) {
  try {
    failure = {};
    return Client(url, std::move(options));
  } catch (const std::system_error& error) {
    failure = runtime::failure_of(error);
    return std::nullopt;
  }
}

Client Client::from_env(ClientOptions options) {
  const char* const url = std::getenv("MORTISE_URL");
  if (url == nullptr || *url == 0) {
    throw Error(
        {Errc::misconfigured, std::string("the environment variable MORTISE_URL is ") +
                                  (url == nullptr ? "not set" : "empty") +
                                  "; set it to the URL of a store, such as redis://127.0.0.1"});
  }
  return Client(std::string_view(url), std::move(options));
}

}  // namespace mortise
