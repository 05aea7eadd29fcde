// SPDX-License-Identifier: MIT
// Goal: what happened is what a scrape says, under the names that docs/operations.md and the
// dashboard have. Method: two clients of a memory server, and the text that Prometheus would read.
#include <mortise/memory.hpp>
#include <mortise/mortise.hpp>
#include <mortise/prometheus.hpp>

#include "support/eventually.hpp"
#include "support/text_of.hpp"

#include <gmock/gmock.h>

#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <regex>
#include <set>
#include <stdexcept>
#include <string>

namespace mortise::prometheus {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

class PrometheusObserver : public ::testing::Test {
 protected:
  [[nodiscard]] Client client(ObserverOptions options = {}) {
    return Client(server_.backend(), {.observer = observer(registry_, std::move(options))});
  }
  [[nodiscard]] Client stranger() { return Client(server_.backend()); }
  [[nodiscard]] memory::Server& server() { return server_; }
  [[nodiscard]] std::string scraped() const {
    return ::prometheus::TextSerializer().Serialize(registry_->Collect());
  }
  /// Losses and renewals are told by a thread of the client's.
  [[nodiscard]] bool comes(const std::string& line) const {
    return test::eventually([&] { return scraped().find(line) != std::string::npos; });
  }

 private:
  memory::Server server_;
  std::shared_ptr<::prometheus::Registry> registry_ = std::make_shared<::prometheus::Registry>();
};

TEST_F(PrometheusObserver, CountsWhatHappens) {
  Client mine = client();
  Client other = stranger();
  Lock lock = mine.make_lock("a");
  Lock others = other.make_lock("a");
  {
    const std::scoped_lock hold(lock);
    const std::scoped_lock again(lock);  // is not told
    EXPECT_THAT(scraped(), HasSubstr("\nmortise_held 1\n"));
  }
  {
    const std::scoped_lock hold(others);
    EXPECT_FALSE(lock.try_lock_for(1ms));
  }
  const std::string text = scraped();
  EXPECT_THAT(text, HasSubstr("\nmortise_grants_total 1\n"));
  EXPECT_THAT(text, HasSubstr("\nmortise_contended_total 1\n"));
  EXPECT_THAT(text, HasSubstr("\nmortise_releases_total{outcome=\"released\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("\nmortise_releases_total{outcome=\"was_lost\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("\nmortise_held 0\n"));
  EXPECT_THAT(text, HasSubstr("\nmortise_wait_seconds_count 1\n"));
  EXPECT_THAT(text, HasSubstr("\nmortise_hold_seconds_count 1\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE mortise_wait_seconds histogram"));
  EXPECT_THAT(text, Not(HasSubstr("group=")));
}

TEST_F(PrometheusObserver, CountsLossesByTheirReasonAndTheHoldOnce) {
  Client mine = client();
  Lock lock = mine.make_lock("a", {.lease = 150ms});
  const Guard guard(lock);
  server().drop("a");
  EXPECT_TRUE(comes("\nmortise_lost_total{why=\"lost\"} 1\n")) << scraped();
  EXPECT_TRUE(comes("\nmortise_held 0\n")) << scraped();
  EXPECT_THAT(scraped(), HasSubstr("\nmortise_hold_seconds_count 1\n"));
}

TEST_F(PrometheusObserver, CountsRenewalsAndWhatFailsMeanwhile) {
  Client mine = client();
  Lock lock = mine.make_lock("a", {.lease = 300ms});
  const Guard guard(lock);
  EXPECT_TRUE(test::eventually(
      [&] { return !std::regex_search(scraped(), std::regex("\nmortise_renewals_total 0\n")); }));
  server().set_reachable(false);
  EXPECT_TRUE(comes("\nmortise_failed_total{why=\"unavailable\"} ")) << scraped();
}

TEST_F(PrometheusObserver, TellsGroupsAndClientsApart) {
  const auto before_slash = [](std::string_view name) {
    return std::string(name.substr(0, name.find('/')));
  };
  Client redis = client({.labels = {{"store", "redis"}}, .group = before_slash});
  Client file = client({.labels = {{"store", "file"}}});
  for (const char* const name : {"orders/1", "orders/2", "stock/1"}) {
    Lock lock = redis.make_lock(name);
    const std::scoped_lock hold(lock);
  }
  const std::string text = scraped();
  EXPECT_THAT(text, HasSubstr("mortise_grants_total{group=\"orders\",store=\"redis\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("mortise_grants_total{group=\"stock\",store=\"redis\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("mortise_grants_total{store=\"file\"} 0\n"));
}

TEST_F(PrometheusObserver, RefusesALabelThatIsNone) {
  EXPECT_THROW(static_cast<void>(client({.labels = {{"no label", "x"}}})), std::invalid_argument);
}

/// The names in a text, without what Prometheus adds to those of histograms.
std::set<std::string> names_in(const std::string& text) {
  std::set<std::string> names;
  const std::regex name("mortise_[a-z_]*[a-z]");
  for (std::sregex_iterator at(text.begin(), text.end(), name), end; at != end; ++at) {
    names.insert(std::regex_replace(at->str(), std::regex("_(bucket|sum|count)$"), ""));
  }
  return names;
}

std::string page(const std::string& name) {
  return test::text_of(std::string(MORTISE_DOCS_DIR "/") + name);
}

TEST_F(PrometheusObserver, HasTheNamesThatThePageAndTheDashboardHave) {
  Client mine = client();
  Lock lock = mine.make_lock("a", {.lease = 300ms});
  const Guard guard(lock);
  server().set_reachable(false);  // renewals fail, and then it is lost: now all figures are there
  ASSERT_TRUE(comes("mortise_failed_total{"));
  ASSERT_TRUE(comes("mortise_lost_total{"));
  const std::set<std::string> counted = names_in(scraped());
  EXPECT_EQ(names_in(page("grafana.json")), counted);
  std::set<std::string> told = names_in(page("operations.md"));
  EXPECT_TRUE(std::includes(told.begin(), told.end(), counted.begin(), counted.end()));
}

// One byte that is not UTF-8 makes Prometheus refuse the whole page.
TEST_F(PrometheusObserver, EscapesLabelsThatAreNotText) {
  Client mine = client({.labels = {{"shop", "a\xff"}},
                        .group = [](std::string_view name) { return std::string(name); }});
  Lock lock = mine.make_lock("b\xfe\n\xe2\x80\xae");
  { const std::scoped_lock hold(lock); }
  const std::string text = scraped();
  // The page has each backslash as two.
  EXPECT_THAT(text, HasSubstr(R"(group="b\\xfe\\x0a\\xe2\\x80\\xae",shop="a\\xff")"));
  EXPECT_THAT(text, Not(HasSubstr("\xff")));
}

}  // namespace
}  // namespace mortise::prometheus
