// SPDX-License-Identifier: MIT
// Goal: a scrape has what happened and what threads wait for, under the names that
// docs/operations.md and the dashboard have. Method: two clients of a memory server, and the text
// that Prometheus would read.
#include <mortise/memory.hpp>
#include <mortise/mortise.hpp>
#include <mortise/prometheus.hpp>

#include "support/contract_worker.hpp"
#include "support/eventually.hpp"
#include "support/text_of.hpp"

#include <gmock/gmock.h>

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>
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
#include <vector>

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
  [[nodiscard]] std::string scraped() const { return scraped(*registry_); }
  [[nodiscard]] static std::string scraped(const ::prometheus::Collectable& of) {
    return ::prometheus::TextSerializer().Serialize(of.Collect());
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
    EXPECT_THAT(scraped(), HasSubstr("\nmortise_held{mode=\"exclusive\"} 1\n"));
  }
  {
    const std::scoped_lock hold(others);
    EXPECT_FALSE(lock.try_lock_for(1ms));
  }
  const std::string text = scraped();
  EXPECT_THAT(text, HasSubstr("\nmortise_grants_total{mode=\"exclusive\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("\nmortise_contended_total{mode=\"exclusive\"} 1\n"));
  EXPECT_THAT(text,
              HasSubstr("\nmortise_releases_total{mode=\"exclusive\",outcome=\"released\"} 1\n"));
  EXPECT_THAT(text,
              HasSubstr("\nmortise_releases_total{mode=\"exclusive\",outcome=\"was_lost\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("\nmortise_held{mode=\"exclusive\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("\nmortise_wait_seconds_count{mode=\"exclusive\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("\nmortise_hold_seconds_count{mode=\"exclusive\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE mortise_wait_seconds histogram"));
  EXPECT_THAT(text, Not(HasSubstr("group=")));
}

TEST_F(PrometheusObserver, CountsLossesByTheirReasonAndTheHoldOnce) {
  Client mine = client();
  EXPECT_THAT(scraped(), HasSubstr("\nmortise_lost_total{mode=\"exclusive\",why=\"lost\"} 0\n"))
      << "an alert on the first loss needs a zero before it";
  Lock lock = mine.make_lock("a", {.lease = 150ms});
  const Guard guard(lock);
  server().drop("a");
  EXPECT_TRUE(comes("\nmortise_lost_total{mode=\"exclusive\",why=\"lost\"} 1\n")) << scraped();
  EXPECT_TRUE(comes("\nmortise_held{mode=\"exclusive\"} 0\n")) << scraped();
  EXPECT_THAT(scraped(), HasSubstr("\nmortise_hold_seconds_count{mode=\"exclusive\"} 1\n"));
}

TEST_F(PrometheusObserver, CountsRenewalsAndWhatFailsMeanwhile) {
  Client mine = client();
  Lock lock = mine.make_lock("a", {.lease = 300ms});
  const Guard guard(lock);
  EXPECT_TRUE(test::eventually([&] {
    return !std::regex_search(scraped(),
                              std::regex("\nmortise_renewals_total\\{mode=\"exclusive\"\\} 0\n"));
  }));
  server().set_reachable(false);
  const std::regex some("\nmortise_failed_total\\{mode=\"exclusive\",why=\"unavailable\"\\} [1-9]");
  EXPECT_TRUE(test::eventually([&] { return std::regex_search(scraped(), some); })) << scraped();
}

TEST_F(PrometheusObserver, CountsThreadsThatWaitAndHowTheirWaitsEnd) {
  Client mine = client();
  Client other = stranger();
  Lock held = other.make_lock("a");
  held.lock();
  Lock lock = mine.make_lock("a");
  EXPECT_FALSE(lock.try_lock_for(100ms));  // long enough for a wait to begin
  contract::Worker worker;
  auto served = worker.start([&] {
    lock.lock();
    lock.unlock();
  });
  EXPECT_TRUE(comes("\nmortise_waiting{mode=\"exclusive\"} 1\n")) << scraped();
  held.unlock();
  served.get();
  const std::string text = scraped();
  EXPECT_THAT(text, HasSubstr("\nmortise_waiting{mode=\"exclusive\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("\nmortise_waits_total{mode=\"exclusive\",outcome=\"timeout\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("\nmortise_waits_total{mode=\"exclusive\",outcome=\"granted\"} 1\n"));
}

TEST_F(PrometheusObserver, CountsEachModeByItself) {
  Client mine = client();
  Semaphore gate = mine.make_semaphore("gate", 2);
  const Permit permit = gate.acquire({});
  EXPECT_THAT(scraped(), HasSubstr("\nmortise_held{mode=\"permit\"} 1\n"));
  EXPECT_THAT(scraped(), HasSubstr("\nmortise_held{mode=\"exclusive\"} 0\n"));
}

/// Sixteen threads on one lock: one of them holds it.
class StuckThreads {
 public:
  StuckThreads(Client& client, const std::string& name, std::size_t threads)
      : lock_(client.make_lock(name)) {
    for (std::size_t i = 0; i < threads; ++i) {
      workers_.push_back(std::make_unique<contract::Worker>());
      static_cast<void>(workers_.back()->start([this] {
        lock_.lock();
        EXPECT_TRUE(go_on_.wait());
        lock_.unlock();
      }));
    }
  }
  ~StuckThreads() { go_on_.set(); }
  StuckThreads(const StuckThreads&) = delete;
  StuckThreads& operator=(const StuckThreads&) = delete;

 private:
  Lock lock_;
  test::Signal go_on_;
  std::vector<std::unique_ptr<contract::Worker>> workers_;
};

TEST_F(PrometheusObserver, NamesTheLockThatThreadsAreStuckOnAndItsHolder) {
  Client mine(server().backend(), {});
  Client other = stranger();
  const auto waits = waits_by_name(
      {{.snapshot = mine.snapshot_source(), .labels = {{"store", "redis"}}}}, {.longer_than = 0ns});
  Lock others = other.make_lock("orders/7", {.label = "ship-3"});
  others.lock();
  Lock held = mine.make_lock("orders/42", {.label = "ship-1"});
  held.lock();
  const auto line = [](const char* name, const char* holder, int threads) {
    return std::string("\nmortise_waiting_threads{holder=\"") + holder +
           "\",mode=\"exclusive\",name=\"" + name + "\",store=\"redis\"} " +
           std::to_string(threads) + "\n";
  };
  {
    const StuckThreads on_mine(mine, "orders/42", 16);
    const StuckThreads on_others(mine, "orders/7", 3);
    EXPECT_TRUE(test::eventually([&] {
      const std::string text = scraped(*waits);
      return text.find(line("orders/42", "ship-1", 16)) != std::string::npos &&
             text.find(line("orders/7", "ship-3", 3)) != std::string::npos;
    })) << scraped(*waits);
    EXPECT_THAT(scraped(*waits), HasSubstr("\nmortise_longest_wait_seconds{holder=\"ship-1\""));
    held.unlock();
    others.unlock();
  }
  EXPECT_THAT(scraped(*waits), Not(HasSubstr("name="))) << "no thread waits any more";
  EXPECT_THAT(scraped(*waits), HasSubstr("\nmortise_failing_renewals{store=\"redis\"} 0\n"));
}

TEST_F(PrometheusObserver, NamesNoMoreThanItMay) {
  Client mine(server().backend(), {});
  const auto one =
      waits_by_name({{.snapshot = mine.snapshot_source()}}, {.most_names = 1, .longer_than = 0ns});
  const auto old =
      waits_by_name({{.snapshot = mine.snapshot_source()}}, {.longer_than = std::chrono::hours(1)});
  const StuckThreads few(mine, "few", 2);
  const StuckThreads many(mine, "many", 5);
  const auto all = waits_by_name({{.snapshot = mine.snapshot_source()}}, {.longer_than = 0ns});
  ASSERT_TRUE(test::eventually([&] {
    const std::string text = scraped(*all);
    return text.find("name=\"many\"} 4\n") != std::string::npos &&
           text.find("name=\"few\"} 1\n") != std::string::npos;
  }));
  EXPECT_THAT(scraped(*one), HasSubstr("name=\"many\"} 4\n"));
  EXPECT_THAT(scraped(*one), Not(HasSubstr("few")));
  EXPECT_THAT(scraped(*old), Not(HasSubstr("name=")));
}

TEST_F(PrometheusObserver, CountsRenewalsThatFailNow) {
  Client mine(server().backend(), {});
  const auto waits = waits_by_name({{.snapshot = mine.snapshot_source()}});
  Lock lock = mine.make_lock("a", {.lease = 1500ms});
  const Guard guard(lock);
  EXPECT_THAT(scraped(*waits), HasSubstr("\nmortise_failing_renewals 0\n"));
  server().set_reachable(false);
  EXPECT_TRUE(test::eventually([&] {
    return scraped(*waits).find("\nmortise_failing_renewals 1\n") != std::string::npos;
  })) << scraped(*waits);
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
  EXPECT_THAT(
      text,
      HasSubstr("mortise_grants_total{group=\"orders\",mode=\"exclusive\",store=\"redis\"} 2\n"));
  EXPECT_THAT(
      text,
      HasSubstr("mortise_grants_total{group=\"stock\",mode=\"exclusive\",store=\"redis\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("mortise_grants_total{mode=\"exclusive\",store=\"file\"} 0\n"));
}

TEST_F(PrometheusObserver, RefusesALabelThatIsNone) {
  EXPECT_THROW(static_cast<void>(client({.labels = {{"no label", "x"}}})), std::invalid_argument);
  Client mine = stranger();
  const Watched watched{.snapshot = mine.snapshot_source(), .labels = {{"no label", "x"}}};
  EXPECT_THROW(static_cast<void>(waits_by_name({watched})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(waits_by_name({Watched()})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(client({.labels = {{"mode", "x"}}})), std::invalid_argument);
  const Watched named{.snapshot = [] { return Snapshot(); }, .labels = {{"holder", "x"}}};
  EXPECT_THROW(static_cast<void>(waits_by_name({named})), std::invalid_argument);
  const Watched one{.snapshot = [] { return Snapshot(); }, .labels = {{"store", "x"}}};
  EXPECT_THROW(static_cast<void>(waits_by_name({one, one})), std::invalid_argument);
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
  contract::Worker worker;
  worker.run([&] { EXPECT_FALSE(lock.try_lock_for(1ms)); });
  server().set_reachable(false);  // renewals fail: now all metrics are there
  ASSERT_TRUE(comes("mortise_failed_total{"));
  ASSERT_TRUE(comes("mortise_waits_total{"));
  std::set<std::string> counted = names_in(scraped());
  counted.merge(names_in(scraped(*waits_by_name({{.snapshot = mine.snapshot_source()}}))));
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
  EXPECT_THAT(text,
              HasSubstr(R"(group="b\\xfe\\x0a\\xe2\\x80\\xae",mode="exclusive",shop="a\\xff")"));
  EXPECT_THAT(text, Not(HasSubstr("\xff")));
}

}  // namespace
}  // namespace mortise::prometheus
