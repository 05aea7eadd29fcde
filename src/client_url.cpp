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

constexpr std::pair<std::string_view, Factory> factories[] = {
    {"memory", &memory::backend},
    {"file", &file::backend},
#ifdef MORTISE_WITH_POSTGRES
    {"postgresql", &postgres::backend},
    {"postgres", &postgres::backend},
#endif
#ifdef MORTISE_WITH_REDIS
    {"redis", &redis::backend},
    {"rediss", &redis::backend},
    {"redis+unix", &redis::backend},
    {"redis+sentinel", &redis::backend},  // refused, in words of its own
    {"redis+cluster", &redis::backend},
    {"redlock", &redlock::backend},
    {"redlocks", &redlock::backend},
    {"redlock+unix", &redlock::backend},
#endif
#ifdef MORTISE_WITH_ZOOKEEPER
    {"zookeeper", &zookeeper::backend},
#endif
};

std::unique_ptr<Backend> open(std::string_view url) {
  const std::string scheme = base::url_scheme(url);
  std::string known;
  for (const auto& [name, factory] : factories) {
    if (name == scheme) return factory(url);
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  throw LockError({Errc::unsupported, "URL: no backend for the scheme '" + scheme +
                                          "' in this build, which has " + known});
}

}  // namespace

Client::Client(std::string_view url, ClientOptions options)
    : Client(open(url), std::move(options)) {}

}  // namespace mortise
