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

#include "base/url.hpp"

#include <string>
#include <utility>

namespace mortise {
namespace {

using Factory = std::unique_ptr<Backend> (*)(std::string_view url);

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

struct Scheme {
  std::string_view name;
  Factory factory;
  std::string_view component = {};  ///< the CMake option that it is built by; empty: always there
  bool built = true;                ///< false: refused, in words of its backend
};

constexpr Scheme schemes[] = {
    {"memory", &memory::backend},
    {"file", &file::backend},
    {"postgresql", postgres_factory, "MORTISE_WITH_POSTGRES"},
    {"postgres", postgres_factory, "MORTISE_WITH_POSTGRES"},
    {"redis", redis_factory, "MORTISE_WITH_REDIS"},
    {"rediss", redis_factory, "MORTISE_WITH_REDIS"},
    {"redis+unix", redis_factory, "MORTISE_WITH_REDIS"},
    {"redis+sentinel", redis_factory, "MORTISE_WITH_REDIS", false},
    {"redis+cluster", redis_factory, "MORTISE_WITH_REDIS", false},
    {"redlock", redlock_factory, "MORTISE_WITH_REDIS"},
    {"redlocks", redlock_factory, "MORTISE_WITH_REDIS"},
    {"redlock+unix", redlock_factory, "MORTISE_WITH_REDIS"},
    {"zookeeper", zookeeper_factory, "MORTISE_WITH_ZOOKEEPER"},
};

/// Of "10.0.0.1:6379" or "localhost:2181" everything before the colon reads as a scheme.
std::string_view scheme_by_port(std::string_view url) {
  std::string_view port = url.substr(url.find(':') + 1);
  port = port.substr(0, port.find_first_of("/?"));
  if (port.empty() || port.find_first_not_of("0123456789") != std::string_view::npos) return {};
  if (port == "2181") return "zookeeper";
  return port == "5432" ? "postgresql" : "redis";
}

std::unique_ptr<Backend> open(std::string_view url) {
  const std::string scheme = base::url_scheme(url);
  std::string known;
  for (const Scheme& each : schemes) {
    if (each.name == scheme && each.factory != nullptr) return each.factory(url);
    if (each.name == scheme) {
      throw LockError({Errc::unsupported, "URL: the backend of the scheme '" + scheme +
                                              "' is not in this build; configure with " +
                                              std::string(each.component) + "=ON"});
    }
    if (each.factory == nullptr || !each.built) continue;
    known += (known.empty() ? "" : ", ") + std::string(each.name);
  }
  const std::string_view meant = scheme_by_port(url);
  if (!meant.empty()) {
    // Not quoted: it may have a password in it.
    throw LockError({Errc::misconfigured, "URL: the scheme is missing; did you mean " +
                                              std::string(meant) + "://host:port?"});
  }
  throw LockError({Errc::unsupported, "URL: no backend for the scheme '" + scheme +
                                          "' in this build, which has " + known});
}

}  // namespace

Client::Client(std::string_view url, ClientOptions options)
    : Client(open(url), std::move(options)) {}

}  // namespace mortise
