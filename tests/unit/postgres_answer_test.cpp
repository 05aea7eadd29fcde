// SPDX-License-Identifier: MIT
// Goal: what the server answers is read as what it means, and nothing else is believed. Method:
// words and states, without a server.
#include "core/figures.hpp"
#include "postgres/answer.hpp"
#include "postgres/arguments.hpp"
#include "postgres/server_error.hpp"

#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <string>
#include <vector>

namespace mortise::postgres {
namespace {

using namespace std::chrono_literals;

TEST(PostgresAnswer, ReadsAGrant) {
  const auto answer = Answer::parse("G 1795255789077867 1500 30000000");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->kind, Answer::Kind::granted);
  EXPECT_EQ(answer->number, 1795255789077867U);
  EXPECT_EQ(answer->age, 1500us);
  EXPECT_EQ(answer->lease, 30s);
}

TEST(PostgresAnswer, ReadsAGrantOfThisMoment) {
  const auto answer = Answer::parse("1795255789077867");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->kind, Answer::Kind::granted);
  EXPECT_EQ(answer->number, 1795255789077867U);
  EXPECT_EQ(answer->age, 0us);
  EXPECT_EQ(answer->lease, 0us) << "as it was asked for";
}

TEST(PostgresAnswer, BelievesInNoHoldOfTheFuture) {
  // The server's clock was set back: the lease counts from now, and not from later.
  EXPECT_EQ(Answer::parse("G 7 -5000 30000000")->age, 0us);
}

TEST(PostgresAnswer, NoTimeIsLongerThanTheLongestLease) {
  // They all become nanoseconds, which a number of microseconds at its end would overflow.
  EXPECT_EQ(Answer::parse("G 7 9223372036854775807 30000000")->age, core::longest_lease);
  EXPECT_EQ(Answer::parse("Q 7 9223372036854775807 61")->left, core::longest_lease);
}

TEST(PostgresAnswer, AHolderWithoutAGrantHasNoToken) {
  for (const char* words : {"Q -7 1 61", "Q 0 1 61", "Q 9007199254740992 1 61"}) {
    EXPECT_FALSE(Answer::parse(words)->holder->token) << words;
  }
}

TEST(PostgresAnswer, ReadsTheOthers) {
  EXPECT_EQ(Answer::parse("A")->kind, Answer::Kind::ahead);
  EXPECT_EQ(Answer::parse("B")->kind, Answer::Kind::busy);
  EXPECT_EQ(Answer::parse("L")->kind, Answer::Kind::locked);
  EXPECT_EQ(Answer::parse("V")->kind, Answer::Kind::late);
}

TEST(PostgresAnswer, ReadsTheHolder) {
  for (const char* words : {"Q 7 1500000 686f7374", "B 7 1500000 686f7374"}) {
    const auto answer = Answer::parse(words);
    ASSERT_TRUE(answer) << words;
    EXPECT_EQ(answer->kind, *words == 'Q' ? Answer::Kind::held : Answer::Kind::busy);
    EXPECT_EQ(answer->left, 1500ms);
    ASSERT_TRUE(answer->holder);
    EXPECT_EQ(answer->holder->label, "host");
    EXPECT_EQ(answer->holder->expires_in, 1500ms);
  }
  EXPECT_EQ(Answer::parse("Q 7 1 ")->holder->label, "");
}

TEST(PostgresAnswer, ReadsAGrantOfAKey) {
  const auto answer = Answer::parse("G 7 0 30000000 3");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->number, 7U);
  EXPECT_EQ(answer->run, 3U);
}

// As told() of once_tables.sql makes it.
std::string told(char state, bool held, std::int64_t run, std::int64_t number,
                 const std::string& fingerprint, const std::string& bytes) {
  const auto big_endian = [](std::int64_t value, int size) {
    std::string out;
    for (int byte = size - 1; byte >= 0; --byte) {
      out += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * byte));
    }
    return out;
  };
  return std::string("\1") + state + (held ? '\1' : '\0') + big_endian(run, 8) +
         big_endian(number, 8) + big_endian(static_cast<std::int64_t>(fingerprint.size()), 4) +
         fingerprint + bytes;
}

TEST(PostgresAnswer, ReadsWhatIsRememberedOfAKey) {
  std::string every_byte;
  for (int byte = 0; byte < 256; ++byte) every_byte += static_cast<char>(byte);
  const auto answer = Answer::parse(told('Y', false, 3, 1795255789077867, "print", every_byte));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->kind, Answer::Kind::told);
  EXPECT_EQ(answer->record->state, KeyState::succeeded);
  EXPECT_EQ(answer->record->bytes, every_byte);
  EXPECT_EQ(answer->record->run, 3U);
  EXPECT_EQ(answer->record->number, 1795255789077867U);
  EXPECT_EQ(answer->record->fingerprint, "print");
  EXPECT_FALSE(answer->record->held);
  const auto longest =
      record_in(told('F', false, 1, 1, std::string(128, 'f'), std::string(65'536, 'b')));
  ASSERT_TRUE(longest);
  EXPECT_EQ(longest->state, KeyState::failed);
  EXPECT_EQ(longest->bytes.size(), 65'536U);
  EXPECT_TRUE(record_in(told('P', true, 1, 1, "", ""))->held);
}

TEST(PostgresAnswer, BelievesNoOtherRecord) {
  const std::string good = told('Y', false, 1, 1, "f", "");
  ASSERT_TRUE(record_in(good));
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(record_in(std::string_view(good).substr(0, size))) << size;
  }
  EXPECT_FALSE(record_in(told('-', false, 1, 1, "", "")));
  EXPECT_FALSE(record_in(told('Y', false, 0, 1, "", "")));
  EXPECT_FALSE(record_in(told('Y', false, 1, 0, "", "")));
  EXPECT_FALSE(record_in(told('Y', false, 1, std::int64_t{1} << 53, "", "")));
  EXPECT_FALSE(record_in(told('Y', false, 1, 1, std::string(129, 'f'), "")));
  EXPECT_FALSE(record_in(told('Y', false, 1, 1, "", std::string(65'537, 'b'))));
  EXPECT_FALSE(Answer::parse(told('x', false, 1, 1, "", "")));
}

TEST(PostgresAnswer, BelievesNothingElse) {
  for (const char* words : {"",
                            "G",
                            "G 1",
                            "G 1 0",
                            "G 1 0 0",
                            "G 0 0 1000",
                            "G -1 0 1000",
                            "G 9007199254740992 0 1000",
                            "G 1 0 1000 ",
                            "G 1 0 1000 0",
                            "G 1 0 1000 -1",
                            "G 1 0 1000 1 1",
                            "G  1 0 1000",
                            "G1 0 1000",
                            "G 1 0 99999999999999999999",
                            "G 1 0 86400000001",
                            "Q 1",
                            "QQ",
                            "X",
                            "g 1 0 1000",
                            "G 1 0 1000\n",
                            "0",
                            "-1",
                            "9007199254740992",
                            "1 ",
                            "12x",
                            "Q",
                            "Q 1 1",
                            "Q 1 0 61",
                            "Q 1 1 6",
                            "Q 1 1 6g",
                            "Q 1 1 61 ",
                            "Q 1 1  61",
                            "B 1"}) {
    EXPECT_FALSE(Answer::parse(words)) << '\'' << words << '\'';
  }
}

// As look.sql puts it together.
std::string looked_at(std::int64_t number, std::int64_t end) {
  std::string bytes;
  for (const std::int64_t value : {number, end}) {
    for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
  }
  return bytes;
}

TEST(PostgresAnswer, ReadsALookAtTheHolder) {
  const auto answer =
      Answer::parse(looked_at(7, 848'000'000'000'000) + "host", server_time(847'999'998'500'000));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->kind, Answer::Kind::held);
  EXPECT_EQ(answer->left, 1500ms);
  ASSERT_TRUE(answer->holder);
  EXPECT_EQ(answer->holder->label, "host");
  EXPECT_EQ(answer->holder->expires_in, 1500ms);
}

TEST(PostgresAnswer, ALookAtALeaseThatEndsTellsOfNoHolder) {
  const auto answer = Answer::parse(looked_at(7, 1000) + "host", server_time(1000));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->kind, Answer::Kind::held);
  EXPECT_FALSE(answer->holder);
}

TEST(PostgresAnswer, ALookAtAnEndlessLeaseIsNoLongerThanTheLongest) {
  for (const std::int64_t clock : {std::int64_t{1000}, INT64_MIN}) {
    const auto answer = Answer::parse(looked_at(7, INT64_MAX), server_time(clock));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->left, core::longest_lease);
  }
  EXPECT_FALSE(Answer::parse(looked_at(7, 2).substr(0, 15)));
}

TEST(PostgresArguments, AMomentIsWhatTheServerCallsIt) {
  using namespace std::chrono_literals;
  EXPECT_EQ(timestamptz_of(946'684'800s), 0) << "2000-01-01 00:00:00 UTC";
  EXPECT_EQ(server_time(timestamptz_of(1'795'255'789'077'867us)), 1'795'255'789'077'867us);
  EXPECT_EQ(timestamptz_of(remote::ServerTime::max()), INT64_MAX) << "infinity";
}

// One row of inspect.sql, as libpq keeps it.
Result inspected(const std::vector<std::string>& values) {
  PGresult* const result = PQmakeEmptyPGresult(nullptr, PGRES_TUPLES_OK);
  std::string name = "column";
  std::vector<PGresAttDesc> columns(values.size());
  for (PGresAttDesc& column : columns) column.name = name.data();
  PQsetResultAttrs(result, static_cast<int>(columns.size()), columns.data());
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::string value = values[i];
    PQsetvalue(result, 0, static_cast<int>(i), value.data(), static_cast<int>(value.size()));
  }
  return Result(result);
}

TEST(PostgresAnswer, ALeaseBetweenTheEndsOfTimeIsNoLongerThanTheLongest) {
  const std::string row = looked_at(7, INT64_MAX);
  const std::string clock = looked_at(0, INT64_MIN).substr(8);
  const auto holder = holder_of(inspected({row.substr(0, 8), row.substr(8), "host", clock}));
  ASSERT_TRUE(holder && *holder);
  EXPECT_EQ((*holder)->expires_in, core::longest_lease);
}

struct Meant {
  const char* state;
  ServerError::Kind kind;
  Errc code;
};

TEST(PostgresServerError, KnowsTheStatesThatMatter) {
  using enum ServerError::Kind;
  for (const Meant& meant : {
           Meant{"28P01", final, Errc::denied},
           Meant{"28000", final, Errc::denied},
           Meant{"42501", final, Errc::denied},
           Meant{"3D000", final, Errc::misconfigured},
           Meant{"3F000", final, Errc::misconfigured},
           Meant{"42P01", final, Errc::misconfigured},
           Meant{"42883", final, Errc::misconfigured},
           Meant{"55000", final, Errc::misconfigured},
           Meant{"26000", final, Errc::misconfigured},
           Meant{"42601", final, Errc::protocol},
           Meant{"53300", elsewhere, Errc::exhausted},
           Meant{"53100", passing, Errc::exhausted},
           Meant{"25006", elsewhere, Errc::unavailable},
           Meant{"57P01", elsewhere, Errc::unavailable},
           Meant{"57P03", elsewhere, Errc::unavailable},
           Meant{"57014", passing, Errc::unavailable},
           Meant{"40001", passing, Errc::unavailable},
           Meant{"40P01", passing, Errc::unavailable},
           Meant{"XX000", passing, Errc::unavailable},
           Meant{"", elsewhere, Errc::unavailable},
           Meant{"P0001", passing, Errc::unavailable},
       }) {
    const ServerError error = server_error("postgresql a:1", {meant.state, "the words"});
    EXPECT_EQ(error.kind, meant.kind) << meant.state;
    EXPECT_EQ(error.failure.code, meant.code) << meant.state;
    EXPECT_EQ(error.failure.text.find("postgresql a:1: the words"), 0U) << error.failure.text;
  }
}

TEST(PostgresServerError, SaysWhatToDo) {
  EXPECT_NE(server_error("", {"42P01", "no table"}).failure.text.find("migrate"),
            std::string::npos);
  EXPECT_NE(server_error("", {"26000", "no statement"}).failure.text.find("mortise.pooled"),
            std::string::npos);
}

TEST(PostgresServerError, IsOneLineOfALog) {
  const std::string text =
      server_error("a", {"XX000", "one\ntwo\x1b[31m\r" + std::string(9999, 'x')}).failure.text;
  EXPECT_LT(text.size(), 300U);
  EXPECT_EQ(text.find_first_of("\n\r\x1b"), std::string::npos);
}

}  // namespace
}  // namespace mortise::postgres
