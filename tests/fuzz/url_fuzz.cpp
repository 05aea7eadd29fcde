// SPDX-License-Identifier: MIT
// Goal: a URL of any bytes is either settings or a typed error, and no word of what stands before
// its '@' is ever in the error. Method: each backend's own parser. The first '*' of the input
// becomes a secret where a user may have meant it as a part of the password, escaped or not.
#include <mortise/client.hpp>
#include <mortise/error.hpp>
#include <mortise/memory.hpp>

#include "base/url.hpp"
#include "file/file_backend.hpp"
#include "fuzz/fuzz.hpp"
#ifdef MORTISE_WITH_POSTGRES
#include "postgres/settings.hpp"
#endif
#ifdef MORTISE_WITH_REDIS
#include "redis/store/settings.hpp"
#include "redlock/settings.hpp"
#endif
#ifdef MORTISE_WITH_ZOOKEEPER
#include "zookeeper/settings.hpp"
#endif

#include <string>
#include <utility>

namespace {

using mortise::Errc;
using mortise::Error;
using mortise::fuzz::expect;

constexpr std::string_view secret = "s3cr3t_w0rd";  // no scheme has a '_'

/// Where a user may have put a password: "scheme://...*...@". With nothing before the path there is
/// no place for one.
std::size_t place_of_secret(std::string_view text) {
  const std::size_t star = text.find('*');
  const std::size_t begin = text.find(':');
  const std::size_t none = std::string_view::npos;
  if (star == none || begin == none || star < begin + 3 || text.rfind('@') < star) return none;
  if (text.rfind('@') == none || !text.substr(begin).starts_with("://")) return none;
  return std::string_view("/?#").find(text[begin + 3]) == none ? star : none;
}

/// Whether the '@' surely ends a password: nothing before it can be read as the end of a host.
bool is_certain(std::string_view text) {
  const std::size_t begin = text.find("://") + 3;
  return text.find_first_of("/?#", begin) > text.rfind('@');
}

/// @return the servers that were found, for messages; nothing of a path, which may have any bytes.
std::string parsed(std::string_view scheme, std::string_view text) {
#ifdef MORTISE_WITH_POSTGRES
  if (scheme == "postgresql" || scheme == "postgres") {
    return mortise::postgres::Settings::parse(text).where();
  }
#endif
#ifdef MORTISE_WITH_REDIS
  if (scheme.starts_with("redis")) {
    const auto settings = mortise::redis::Settings::parse(text);
    const bool by_path = !settings.address.path.empty();
    const bool by_host = !settings.address.host.empty();
    const bool by_sentinels = settings.sentinels.has_value();
    expect(by_path + by_host + by_sentinels == 1, "one place, or sentinels that tell it");
    expect(settings.login.database >= 0, "a database");
    return settings.address.path.empty() ? settings.address.text() : "";
  }
  if (scheme.starts_with("redlock")) {
    const auto settings = mortise::redlock::Settings::parse(text);
    expect(settings.nodes.size() >= 3 && settings.nodes.size() <= 15, "3 to 15 servers");
    return settings.nodes.front().address.path.empty() ? settings.text() : "";
  }
#endif
#ifdef MORTISE_WITH_ZOOKEEPER
  if (scheme.starts_with("zookeeper")) {
    const auto settings = mortise::zookeeper::Settings::parse(text);
    expect(settings.root.starts_with('/') && !settings.root.ends_with('/'), "a path of its own");
    expect(settings.session >= settings.margin * 2, "the session outlives its margin");
    return settings.text();
  }
#endif
  if (scheme == "file") {
    expect(mortise::file::Settings::parse(text).directory.starts_with('/'), "an absolute path");
  } else if (scheme == "memory") {
    // The names are kept: few, that is, of all that may come.
    if (text.size() < 10) static_cast<void>(mortise::memory::backend(text));
  } else {
    const mortise::Client client(text);
    expect(false, "a scheme that nobody knows is refused", text);
  }
  return {};
}

void check(const Error& error) {
  const std::string_view words = error.what();
  expect(error.errc() == Errc::misconfigured || error.errc() == Errc::unsupported, "typed", words);
  expect(words.find(secret) == std::string_view::npos, "no secret in the words", words);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  if (text.find("3cr3t") != std::string::npos) return 0;  // libFuzzer learns words
  const std::size_t place = place_of_secret(text);
  const bool certain = place != std::string::npos && is_certain(text);
  if (place != std::string::npos) text.replace(place, 1, secret);
  try {
    const std::string scheme = mortise::base::url_scheme(text);
    const std::string servers = parsed(scheme, text);
    expect(!certain || servers.find(secret) == std::string::npos, "no secret in a name", servers);
  } catch (const Error& error) {
    check(error);
  }
  try {
    const mortise::base::Url url(text);
    expect(!url.scheme().empty(), "a scheme");
  } catch (const Error& error) {
    expect(error.errc() == Errc::misconfigured, "typed", error.what());
  }
  return 0;
}
