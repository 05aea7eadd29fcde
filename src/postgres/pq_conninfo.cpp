// SPDX-License-Identifier: MIT
// libpq reads the service file and checks its settings only when it begins to connect. So it is
// told to, with a port that is none: it has then read and checked everything, and it refuses the
// port before it opens a socket or looks a name up. Its words tell which of the two it refused: the
// port is quoted in them, in every language.
#include "postgres/pq_conninfo.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <string_view>

namespace mortise::postgres {
namespace {

constexpr const char* no_port = "mortise-probe";

struct FreeOptions {
  void operator()(PQconninfoOption* options) const noexcept { PQconninfoFree(options); }
};
using Options = std::unique_ptr<PQconninfoOption, FreeOptions>;

template <class Visit>
void each_of(const Options& options, Visit visit) {
  for (const PQconninfoOption* each = options.get(); each != nullptr && each->keyword != nullptr;
       ++each) {
    visit(*each);
  }
}

Keywords values_of(const Options& options) {
  Keywords found;
  each_of(options, [&](const PQconninfoOption& each) {
    if (each.val != nullptr) found.emplace_back(each.keyword, each.val);
  });
  return found;
}

void put(Keywords& keywords, const std::string& key, const std::string& value) {
  std::erase_if(keywords, [&](const auto& each) { return each.first == key; });
  keywords.emplace_back(key, value);
}

/// A connection that comes to nothing.
class Probe {
 public:
  /// @param marked the keyword that libpq is to refuse: `port`, or `hostaddr`
  explicit Probe(Keywords keywords, const char* marked = "port") {
    put(keywords, marked, no_port);
    const KeywordList list(keywords);
    connection_.reset(PQconnectStartParams(list.keys.data(), list.values.data(), 0));
    if (!connection_) throw std::bad_alloc();
  }
  [[nodiscard]] bool is_accepted() const {
    return std::string_view(PQerrorMessage(connection_.get())).find(no_port) !=
           std::string_view::npos;
  }
  [[nodiscard]] std::string words() const {
    const std::string_view all = PQerrorMessage(connection_.get());
    return std::string(all.substr(0, all.find('\n')));
  }
  [[nodiscard]] Keywords values() const {
    return values_of(Options(PQconninfo(connection_.get())));
  }
  [[nodiscard]] std::string host() const {
    const char* const host = PQhost(connection_.get());
    return host != nullptr ? host : "";
  }

 private:
  struct Finish {
    void operator()(PGconn* connection) const noexcept { PQfinish(connection); }
  };
  std::unique_ptr<PGconn, Finish> connection_;
};

const char* variable_of(const std::string& key) {
  if (key == "service") return "PGSERVICE";
  const char* found = nullptr;
  each_of(Options(PQconndefaults()), [&](const PQconninfoOption& each) {
    if (key == each.keyword) found = each.envvar;  // not of the copy: it is a constant of libpq's
  });
  return found;
}

/// What libpq takes where no source says anything, so that no source does.
Keywords compiled_defaults() {
  Keywords found;
  each_of(Options(PQconndefaults()), [&](const PQconninfoOption& each) {
    if (each.compiled != nullptr && *each.compiled != '\0') {
      found.emplace_back(each.keyword, each.compiled);
    }
  });
  return found;
}

/// @return what stands in front of the first value that libpq quotes, in every language. A value of
/// a URL may be a piece of a password.
std::string before_quotes(const std::string& words) {
  std::size_t end = std::string::npos;
  for (const char* const mark :
       {":", "\"", "'", "`", "\u00ab", "\u00bb", "\u2018", "\u201c", "\u201e", "\u300c"}) {
    end = std::min(end, words.find(mark));
  }
  return words.substr(0, end);
}

bool is_of_a_server(const std::string& key) {
  return key == "host" || key == "hostaddr" || key == "port";
}

}  // namespace

KeywordList::KeywordList(const Keywords& keywords) {
  for (const auto& [key, value] : keywords) {
    keys.push_back(key.c_str());
    values.push_back(value.c_str());
  }
  keys.push_back(nullptr);
  values.push_back(nullptr);
}

std::optional<Keywords> parse_url(const std::string& url) {
  char* words = nullptr;
  const Options options(PQconninfoParse(url.c_str(), &words));
  if (words != nullptr) PQfreemem(words);
  if (!options) return std::nullopt;
  return values_of(options);
}

bool is_keyword(const std::string& name) {
  bool known = name == "ssl";
  each_of(Options(PQconndefaults()),
          [&](const PQconninfoOption& each) { known = known || name == each.keyword; });
  return known;
}

const std::string* value_in(const Keywords& keywords, const std::string& key) {
  const auto found = std::find_if(keywords.begin(), keywords.end(),
                                  [&](const auto& each) { return each.first == key; });
  return found == keywords.end() ? nullptr : &found->second;
}

std::string default_socket_folder() { return Probe({{"host", ","}, {"hostaddr", ","}}).host(); }

Conninfo::Conninfo(Keywords of_url) : of_url_(std::move(of_url)) {
  const Probe probe(of_url_);
  if (!probe.is_accepted()) words_ = probe.words();
  all_ = probe.values();
  // The port of the probe is not theirs.
  const Keywords with_port = Probe(of_url_, "hostaddr").values();
  if (const std::string* const port = value_in(with_port, "port")) put(all_, "port", *port);
}

std::string Conninfo::origin(const std::string& key) const {
  if (value_in(of_url_, key) != nullptr) return "URL";
  const char* const variable = variable_of(key);
  const char* const set = variable != nullptr ? std::getenv(variable) : nullptr;
  const std::string* const value = value_in(all_, key);
  // The service file counts before the environment.
  if (set != nullptr && (value == nullptr || *value == set)) {
    return std::string("environment variable ") + variable;
  }
  return "service file";
}

bool Conninfo::is_default(const std::string& key) const {
  const char* const variable = variable_of(key);
  if (value_in(of_url_, key) != nullptr || (variable != nullptr && std::getenv(variable))) {
    return false;
  }
  const Keywords compiled = compiled_defaults();
  const std::string* const usual = value_in(compiled, key);
  const std::string* const value = value_in(all_, key);
  return value == nullptr || (usual != nullptr && *value == *usual);
}

std::string Conninfo::refusal() const {
  if (words_.empty()) return {};
  // A value is in no message: it may be a piece of a password, or one in the wrong variable.
  const auto refuses = [&](const std::string& key, const std::string& words) {
    const std::string from = origin(key);
    return from + ": libpq rejects " + key + (from == "URL" ? "" : ": " + before_quotes(words));
  };
  // It has read nothing else then.
  if (all_.empty()) {
    return refuses("service",
                   "the service file lacks that service, or has a line that libpq cannot read");
  }
  Keywords usual = compiled_defaults();
  // Otherwise a service of the environment, which does not count, would be read in its place.
  if (const std::string* const service = value_in(of_url_, "service")) {
    put(usual, "service", *service);
  }
  // Of a variable whose keyword has no default that could be put in its place.
  const Probe without_url(usual);
  if (!without_url.is_accepted())
    return "environment: libpq rejects it: " + before_quotes(without_url.words());
  for (const auto& [key, value] : all_) {
    if (is_of_a_server(key)) continue;
    Keywords alone = usual;
    put(alone, key, value);
    const Probe probe(std::move(alone));
    if (!probe.is_accepted()) return refuses(key, probe.words());
  }
  return "URL, service file and environment: libpq rejects them together: " + before_quotes(words_);
}

}  // namespace mortise::postgres
