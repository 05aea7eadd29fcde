// SPDX-License-Identifier: MIT
// Goal: one attempt at a server is asked for, granted, given back and forgotten as it should, in
// every order of replies, messages, losses and decisions of its caller. Method: a table of steps,
// and all sequences of events up to a length, each judged by a record of what has happened.
#include "remote/attempt_course.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace mortise::remote {

static void PrintTo(AttemptCourse::State state, std::ostream* out) {
  *out << "state " << static_cast<int>(state);
}

namespace {

using namespace std::chrono_literals;
using State = AttemptCourse::State;
using Meaning = AttemptCourse::Meaning;

constexpr Instant at_noon{1h};
constexpr Instant end_of_hold = at_noon + 30s;
constexpr ServerTime at{1'700'000'000'000'000};
constexpr VoidMoment moment{.after = at + 1s, .clock = 7, .noted = at_noon};

/// The state to which events lead from that of a new attempt.
struct Step {
  const char* words;
  State leads_to;
  void (*events)(AttemptCourse&);
};

void ask(AttemptCourse& course) { static_cast<void>(course.ask(1, false)); }
void hold(AttemptCourse& course) { course.grant(77, end_of_hold); }

TEST(RemoteAttemptCourse, GoesFromStateToState) {
  const std::vector<Step> steps{
      {"it begins", State::wanted, [](AttemptCourse&) {}},
      {"asked", State::asked, ask},
      {"refused", State::wanted,
       [](AttemptCourse& course) {
         ask(course);
         course.refuse();
       }},
      {"one of two was refused", State::asked,
       [](AttemptCourse& course) {
         ask(course);
         ask(course);
         course.refuse();
       }},
      {"it waits", State::queued,
       [](AttemptCourse& course) {
         ask(course);
         course.wait();
       }},
      {"it waits, and a further request was refused", State::queued,
       [](AttemptCourse& course) {
         ask(course);
         course.wait();
         ask(course);
         course.refuse();
         course.refuse();
       }},
      {"cancelled", State::cancelled,
       [](AttemptCourse& course) {
         ask(course);
         EXPECT_TRUE(course.cancel());
       }},
      {"cancelled before it was asked", State::gone,
       [](AttemptCourse& course) { EXPECT_FALSE(course.cancel()); }},
      {"cancelled after the refusal of the only request", State::gone,
       [](AttemptCourse& course) {
         ask(course);
         EXPECT_TRUE(course.cancel());
         course.refuse();
         EXPECT_FALSE(course.cancel());
       }},
      {"cancelled, and it waits still", State::cancelled,
       [](AttemptCourse& course) {
         ask(course);
         EXPECT_TRUE(course.cancel());
         course.wait();
       }},
      {"abandoned", State::abandoned,
       [](AttemptCourse& course) {
         ask(course);
         EXPECT_TRUE(course.abandon(at_noon));
       }},
      {"abandoned after a cancel", State::abandoned,
       [](AttemptCourse& course) {
         ask(course);
         EXPECT_TRUE(course.cancel());
         EXPECT_TRUE(course.abandon(at_noon));
         EXPECT_TRUE(course.cancel());
       }},
      {"abandoned, and nothing found", State::cancelled,
       [](AttemptCourse& course) {
         ask(course);
         EXPECT_TRUE(course.abandon(at_noon));
         course.settle();
       }},
      {"over", State::gone,
       [](AttemptCourse& course) {
         ask(course);
         course.finish();
       }},
      {"granted", State::held, hold},
      {"granted after a cancel", State::held,
       [](AttemptCourse& course) {
         ask(course);
         EXPECT_TRUE(course.cancel());
         hold(course);
       }},
      {"granted after it was abandoned", State::orphaned,
       [](AttemptCourse& course) {
         ask(course);
         EXPECT_TRUE(course.abandon(at_noon));
         hold(course);
         course.leave(77);
         course.lose_release(77);
       }},
      {"confirmed", State::confirmed,
       [](AttemptCourse& course) {
         hold(course);
         EXPECT_TRUE(course.confirm(77, at_noon));
         EXPECT_FALSE(course.reject(77)) << "its caller has it";
       }},
      {"rejected", State::leaving,
       [](AttemptCourse& course) {
         hold(course);
         EXPECT_TRUE(course.reject(77));
         EXPECT_FALSE(course.reject(77)) << "it is on its way back already";
         EXPECT_FALSE(course.confirm(77, at_noon));
       }},
      {"its end came before the confirmation", State::held,
       [](AttemptCourse& course) {
         hold(course);
         EXPECT_FALSE(course.confirm(77, end_of_hold));
       }},
      {"its release is on its way", State::leaving,
       [](AttemptCourse& course) {
         hold(course);
         course.leave(76);
         EXPECT_TRUE(course.stands(77, at_noon)) << "that was another hold";
         course.leave(77);
         EXPECT_FALSE(course.stands(77, at_noon));
       }},
      {"its release was lost", State::in_doubt,
       [](AttemptCourse& course) {
         hold(course);
         course.lose_release(76);
         course.leave(77);
         course.lose_release(77);
       }},
      {"released", State::gone,
       [](AttemptCourse& course) {
         hold(course);
         course.lose_release(78);
         EXPECT_FALSE(course.release(78)) << "another one was given back";
         EXPECT_FALSE(course.release(77));
         EXPECT_FALSE(course.release(77)) << "it was answered";
       }},
      {"released by the second request", State::gone,
       [](AttemptCourse& course) {
         hold(course);
         course.lose_release(77);
         EXPECT_TRUE(course.release(77));
       }},
      {"given back by the server, to be asked for again", State::asked,
       [](AttemptCourse& course) {
         hold(course);
         EXPECT_TRUE(course.reject(77));
         course.reopen();
         EXPECT_FALSE(course.ask(2, false));
         EXPECT_FALSE(course.release(77));
         course.reopen();
         EXPECT_TRUE(course.ask(2, false));
       }},
  };
  for (const Step& step : steps) {
    SCOPED_TRACE(step.words);
    AttemptCourse course;
    step.events(course);
    EXPECT_EQ(course.state(), step.leads_to);
  }
}

// In a cluster the connection to the next server may be older than the connection to the last one.
TEST(RemoteAttemptCourse, IsAskedForOncePerConnectionEvenIfThatIsAnOlderOne) {
  AttemptCourse course;
  EXPECT_TRUE(course.ask(9, false));
  EXPECT_TRUE(course.ask(7, true));
  EXPECT_FALSE(course.ask(7, true));
  EXPECT_TRUE(course.ask(7, false));
}

// It asked more than once, and was granted the name, which was taken by force before a later look.
TEST(RemoteAttemptCourse, HoldsNothingIfItWaitsBehindItsOwnGrant) {
  AttemptCourse course;
  ask(course);
  EXPECT_EQ(course.end(80, at_noon), std::nullopt) << "it holds nothing";
  hold(course);
  EXPECT_EQ(course.end(0, at_noon), std::nullopt) << "no number was reported";
  EXPECT_EQ(course.end(76, at_noon), std::nullopt) << "of before the grant";
  EXPECT_TRUE(course.stands(77, at_noon));
  EXPECT_EQ(course.end(77, at_noon), 77U);
  EXPECT_FALSE(course.stands(77, at_noon));
  EXPECT_EQ(course.end(78, at_noon), std::nullopt) << "reported already";
  EXPECT_EQ(course.grant(77, end_of_hold), Meaning::known) << "a late message about that hold";
}

/// Brings events about, and judges each step by a record of its own.
class Judge {
 public:
  static constexpr int events = 18;

  /// @return what is wrong; empty = nothing
  [[nodiscard]] std::string step(int event) {
    const State before = course_.state();
    const std::uint64_t number = course_.number();
    switch (event) {
      case 0: return asked(course_.ask(++connection_, false), before);
      case 1: course_.refuse(); break;
      case 2:
        course_.wait();
        is_asked_ = true;  // as the server has said
        break;
      case 3: return withdrawn(course_.cancel(), before);
      case 4: return withdrawn(course_.abandon(at_noon), before);
      case 5:
        course_.finish();
        is_over_ = is_over_ || number == 0;
        break;
      case 6: course_.settle(); break;
      case 7: return granted(1, number);
      case 8: return granted(2, number);
      case 9:
        if (course_.confirm(number, at_noon) && is_given_back_) return "told and given back";
        break;
      case 10:
        if (number != 0 && course_.reject(number) && before != State::orphaned) {
          if (is_given_back_) return "given back twice";
          is_given_back_ = true;
        }
        break;
      case 11: course_.leave(number); break;
      case 12:
        course_.lose_release(number);
        is_release_lost_ = is_release_lost_ || (number != 0 && before != State::orphaned);
        break;
      case 13: return released(number);
      case 14:
        course_.lost().add(moment, at_noon);
        may_arrive_ = is_asked_ = true;
        is_looking_ = false;  // the answer to that look says nothing about this request
        break;
      case 15:
        return looked(!course_.is_undecided() && course_.lost().begin_look(at_noon), number,
                      before);
      case 16: return reopened(before);
      case 17:
        if (course_.lost().executed(at + 2s, 7, at_noon)) return "void, and may still arrive";
        may_arrive_ = is_looking_ = false;
        break;
    }
    return judge_all();
  }

 private:
  std::string asked(bool may_be_sent, State before) {
    if (may_be_sent && is_taken_back_) return "asked for after it was taken back";
    if (may_be_sent && course_.number() != 0) return "asked for although it is held";
    if (may_be_sent && is_over_) return "asked for after it was over";
    if (!may_be_sent && before <= State::queued) return "not asked for, although it waits";
    is_asked_ = is_asked_ || may_be_sent;
    return judge_all();
  }
  /// By a caller that has neither a result nor taken it back.
  std::string reopened(State before) {
    if (is_taken_back_) return judge_all();
    course_.reopen();
    if (before == State::gone) is_over_ = is_given_back_ = false;
    if (before != State::gone && course_.state() != before) return "it was not over";
    if (course_.lost().any() != may_arrive_) return "what was lost is forgotten";
    return judge_all();
  }
  std::string withdrawn(bool server_may_know, State before) {
    if (server_may_know && !is_asked_ && !was_held_) return "the server never heard of it";
    if (!server_may_know && before == State::queued) return "forgotten in a queue";
    if (!server_may_know && course_.state() != State::gone) return "it is not over";
    if (course_.number() == 0) is_taken_back_ = true;
    return judge_all();
  }
  std::string granted(std::uint64_t number, std::uint64_t before) {
    const bool nobody_wants = course_.state() == State::abandoned;
    const Meaning meaning = course_.grant(number, end_of_hold);
    if (before == 0) {
      if (meaning != Meaning::decides || course_.number() != number) return "not decided";
      if (nobody_wants != course_.is_to_be_undone()) return "nobody gives it back";
      was_held_ = true;
      is_given_back_ = is_release_lost_ = false;
    } else if ((meaning == Meaning::unwanted) != (number > before)) {
      return "a later grant is unwanted, and no other";
    } else if (course_.number() != before) {
      return "another hold";
    }
    return judge_all();
  }
  std::string released(std::uint64_t number) {
    const bool in_doubt = course_.release(number);
    if (in_doubt != (is_release_lost_ && number != 0)) return "in doubt or not";
    if (number != 0) is_over_ = true;
    is_release_lost_ = false;
    return judge_all();
  }
  std::string looked(bool begins, std::uint64_t number, State before) {
    if (begins && is_looking_) return "two looks at once";
    if (begins && !may_arrive_) return "nothing was lost";
    if (begins && number == 0 && before != State::gone) return "its next request shows that";
    is_looking_ = is_looking_ || begins;
    return judge_all();
  }
  std::string judge_all() const {
    const bool later = course_.may_be_forgotten(at_noon + 1s);
    if (later && may_arrive_) return "forgotten, and a lost request may take it";
    if (later && course_.is_undecided()) return "forgotten, and undecided";
    if (later && course_.stands(course_.number(), at_noon + 1s)) return "forgotten, and held";
    if (later && course_.is_to_be_undone()) return "forgotten, and not given back";
    if (course_.is_undecided() && is_asked_ && !course_.is_withdrawn() && is_taken_back_) {
      return "it waits after it was taken back";
    }
    return {};
  }

  AttemptCourse course_;
  std::uint64_t connection_ = 0;
  bool is_asked_ = false;
  bool is_taken_back_ = false;
  bool is_over_ = false;
  bool was_held_ = false;
  bool is_given_back_ = false;
  bool is_release_lost_ = false;
  bool may_arrive_ = false;
  bool is_looking_ = false;
};

void judge_all_after(const Judge& judge, int steps, std::string& path, std::uint64_t& sequences) {
  for (int event = 0; event < Judge::events; ++event) {
    Judge next = judge;
    path.push_back(static_cast<char>('a' + event));
    const std::string wrong = next.step(event);
    ASSERT_EQ(wrong, "") << path;
    ++sequences;
    if (steps > 1) judge_all_after(next, steps - 1, path, sequences);
    if (::testing::Test::HasFatalFailure()) return;
    path.pop_back();
  }
}

// Promise: S5
TEST(RemoteAttemptCourse, IsRightAfterEverySequenceOfFiveEvents) {
  std::string path;
  std::uint64_t sequences = 0;
  judge_all_after(Judge(), 5, path, sequences);
  EXPECT_EQ(sequences, 18U + 324U + 5'832U + 104'976U + 1'889'568U);
}

}  // namespace
}  // namespace mortise::remote
