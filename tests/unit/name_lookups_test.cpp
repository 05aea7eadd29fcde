// SPDX-License-Identifier: MIT
// Goal: however many ask for names that nobody answers, a few threads are enough, and no name waits
// for another one's dead name server. Method: lookups that hang until the test lets them go.
#include "base/name_lookups.hpp"

#include "support/eventually.hpp"

#include <gtest/gtest.h>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace mortise::base {
namespace {

using namespace std::chrono_literals;
using test::eventually;

std::ptrdiff_t threads_now() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

/// A name service of which names that begin with "dead" hang until they are let go.
class NameService {
 public:
  ~NameService() { let_go(); }
  [[nodiscard]] std::shared_ptr<NameLookups> lookups() {
    return NameLookups::make(
        [state = state_](const std::string& host) { return state->ask(host); });
  }
  [[nodiscard]] std::size_t asked(const std::string& host) const {
    const std::lock_guard lock(state_->mutex);
    return state_->asked[host];
  }
  [[nodiscard]] std::size_t hanging() const {
    const std::lock_guard lock(state_->mutex);
    return state_->hanging;
  }
  void let_go() {
    const std::lock_guard lock(state_->mutex);
    state_->open = true;
    state_->changed.notify_all();
  }
  void hang_again() {
    const std::lock_guard lock(state_->mutex);
    state_->open = false;
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool open = false;
    std::size_t hanging = 0;
    std::map<std::string, std::size_t> asked;

    Resolution ask(const std::string& host) {
      std::unique_lock lock(mutex);
      ++asked[host];
      Resolution found;
      if (host.starts_with("dead")) {
        ++hanging;
        changed.wait(lock, [this] { return open; });
        --hanging;
        found.error = "no answer";
      } else {
        found = *NameLookups::read_number("127.0.0.1");
      }
      return found;
    }
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

std::string dead(std::size_t number) { return "dead-" + std::to_string(number) + ".example"; }

/// A lookup hangs, and who asked for it is gone.
void hang_in_vain(const NameService& service, const std::shared_ptr<NameLookups>& lookups) {
  NameQuestion question(lookups);
  question.ask("dead.example", -1);
  ASSERT_TRUE(eventually([&] { return service.hanging() == 1; }));
}

bool is_answered(NameQuestion& question, std::chrono::nanoseconds within = test::patience) {
  return eventually([&] { return question.take().has_value(); }, within);
}

TEST(NameLookups, EqualQuestionsShareOneLookup) {
  NameService service;
  const auto lookups = service.lookups();
  std::vector<std::unique_ptr<NameQuestion>> all;
  for (int i = 0; i < 100; ++i) {
    all.push_back(std::make_unique<NameQuestion>(lookups));
    all.back()->ask("dead.example", -1);
  }
  ASSERT_TRUE(eventually([&] { return service.hanging() == 1; }));
  service.let_go();
  for (const auto& each : all) EXPECT_TRUE(is_answered(*each));
  EXPECT_EQ(service.asked("dead.example"), 1U);
}

TEST(NameLookups, ShortLivedQuestionsLeaveNoThreadsBehind) {
  NameService service;
  const auto lookups = service.lookups();
  std::thread([] {}).join();  // a thread sanitizer has one of its own from then on
  const std::ptrdiff_t before = threads_now();
  for (std::size_t i = 0; i < 300; ++i) NameQuestion(lookups).ask(dead(i), -1);
  // The kernel may still count a thread that has just ended. Lookups that hang do not end.
  constexpr auto most = static_cast<std::ptrdiff_t>(NameLookups::most_threads);
  EXPECT_TRUE(eventually([&] { return threads_now() - before <= most; }));
  service.let_go();
  EXPECT_TRUE(eventually([&] { return threads_now() <= before; })) << "threads end";
  std::size_t asked = 0;
  for (std::size_t i = 0; i < 300; ++i) asked += service.asked(dead(i));
  EXPECT_LE(asked, NameLookups::most_threads) << "what was withdrawn is not looked up";
}

TEST(NameLookups, SomeDeadNamesKeepNoOtherNameWaiting) {
  NameService service;
  const auto lookups = service.lookups();
  std::vector<std::unique_ptr<NameQuestion>> all;
  for (std::size_t i = 0; i + 1 < NameLookups::most_threads; ++i) {
    all.push_back(std::make_unique<NameQuestion>(lookups));
    all.back()->ask(dead(i), -1);
  }
  NameQuestion good(lookups);
  good.ask("good.example", -1);
  EXPECT_TRUE(is_answered(good));
}

// All threads hang once. From then on those names are known to be slow.
TEST(NameLookups, ManyDeadNamesKeepNoOtherNameWaitingTwice) {
  NameService service;
  const auto lookups = service.lookups();
  std::vector<std::unique_ptr<NameQuestion>> all;
  for (std::size_t i = 0; i < 2 * NameLookups::most_threads; ++i) {
    all.push_back(std::make_unique<NameQuestion>(lookups));
  }
  const auto ask_all = [&] {
    for (std::size_t i = 0; i < all.size(); ++i) all[i]->ask(dead(i), -1);
  };
  ask_all();
  ASSERT_TRUE(eventually([&] { return service.hanging() == NameLookups::most_threads; }));
  // Longer than a name server that lives takes.
  const auto until = std::chrono::steady_clock::now() + 1100ms;
  ASSERT_TRUE(eventually([&] { return std::chrono::steady_clock::now() > until; }));
  service.let_go();
  for (const auto& each : all) ASSERT_TRUE(is_answered(*each));
  service.hang_again();
  all.resize(NameLookups::most_threads);
  ask_all();
  ASSERT_TRUE(eventually([&] { return service.hanging() == NameLookups::most_slow; }));
  NameQuestion good(lookups);
  good.ask("good.example", -1);
  EXPECT_TRUE(is_answered(good));
  EXPECT_EQ(service.hanging(), NameLookups::most_slow);
}

TEST(NameLookups, ANewQuestionReplacesTheOldOne) {
  NameService service;
  const auto lookups = service.lookups();
  NameQuestion question(lookups);
  question.ask("dead.example", -1);
  EXPECT_TRUE(question.awaits("dead.example"));
  question.ask("good.example", -1);
  EXPECT_FALSE(question.awaits("dead.example"));
  std::optional<Resolution> found;
  ASSERT_TRUE(eventually([&] { return (found = question.take()).has_value(); }));
  EXPECT_EQ(found->endpoints.size(), 1U);
  service.let_go();
  NameQuestion other(lookups);
  other.ask("good.example", -1);
  EXPECT_TRUE(is_answered(other));
  EXPECT_FALSE(question.take()) << "the answer to a question that was replaced";
}

TEST(NameLookups, WhatAWithdrawnQuestionHangsInServesTheNextOne) {
  NameService service;
  const auto lookups = service.lookups();
  hang_in_vain(service, lookups);
  NameQuestion next(lookups);
  next.ask("dead.example", -1);
  service.let_go();
  EXPECT_TRUE(is_answered(next));
  EXPECT_EQ(service.asked("dead.example"), 1U);
}

// As with a name server that is slower than those who ask have time.
TEST(NameLookups, AnAnswerThatComesTooLateServesTheNextQuestion) {
  NameService service;
  const auto lookups = service.lookups();
  // Threads of earlier tests may still be about to end.
  ASSERT_TRUE(eventually([] {
    const std::ptrdiff_t before = threads_now();
    std::this_thread::sleep_for(100ms);
    return threads_now() == before;
  }));
  hang_in_vain(service, lookups);
  const std::ptrdiff_t hanging = threads_now();
  service.let_go();
  ASSERT_TRUE(eventually([&] { return threads_now() < hanging; }));
  service.hang_again();
  NameQuestion next(lookups);
  next.ask("dead.example", -1);
  EXPECT_TRUE(next.take()) << "at once";
  EXPECT_EQ(service.asked("dead.example"), 1U);
  next.ask("dead.example", -1);
  EXPECT_TRUE(eventually([&] { return service.asked("dead.example") == 2; })) << "and only once";
  EXPECT_FALSE(next.take());
}

TEST(NameLookups, ALookupThatThrowsIsAnError) {
  const auto lookups =
      NameLookups::make([](const std::string&) -> Resolution { throw std::bad_alloc(); });
  NameQuestion question(lookups);
  question.ask("any.example", -1);
  std::optional<Resolution> found;
  ASSERT_TRUE(eventually([&] { return (found = question.take()).has_value(); }));
  EXPECT_EQ(found->code, Errc::exhausted);
  EXPECT_EQ(found->error, "no memory");
}

TEST(NameLookups, WithoutAThreadTheAnswerIsExhaustedUntilThereIsOne) {
  NameService service;
  const auto lookups = service.lookups();
  pthread_attr_t before{};
  ASSERT_EQ(::pthread_getattr_default_np(&before), 0);
  pthread_attr_t huge = before;
  // A stack that no address space has room for.
  ASSERT_EQ(::pthread_attr_setstacksize(&huge, std::size_t{1} << 60U), 0);
  ASSERT_EQ(::pthread_setattr_default_np(&huge), 0);
  NameQuestion question(lookups);
  question.ask("good.example", -1);
  const std::optional<Resolution> none = question.take();
  ASSERT_EQ(::pthread_setattr_default_np(&before), 0);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->code, Errc::exhausted);
  EXPECT_TRUE(none->error.starts_with("cannot start a thread")) << none->error;
  question.ask("good.example", -1);
  EXPECT_TRUE(is_answered(question));
}

TEST(NameLookups, AForkedChildHasThreadsOfItsOwn) {
  NameQuestion parents(NameLookups::of_process());
  parents.ask("no-such-host.invalid", -1);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);  // in case it hangs
    NameQuestion mine(NameLookups::of_process());
    mine.ask("localhost", -1);
    ::_exit(is_answered(mine) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace mortise::base
