// SPDX-License-Identifier: MIT
// Goal: whatever a PostgreSQL server, or somebody in its place, puts into a result, what is read of
// it is within its range or is no answer. Method: results that libpq itself puts together, without
// a server; an input is rows of columns, or the words of an error.
#include "core/figures.hpp"
#include "fuzz/fuzz.hpp"
#include "postgres/answer.hpp"
#include "postgres/server_error.hpp"

#include <libpq-fe.h>

#include <array>
#include <string>
#include <vector>

namespace {

using namespace mortise::postgres;
using mortise::Holder;
using mortise::fuzz::expect;
using mortise::fuzz::Input;
namespace core = mortise::core;

constexpr int columns = 7;

void check(const Holder& holder) {
  expect(holder.label.size() <= core::longest_label, "a short label");
  expect(holder.token.value() < core::grant_number_limit * core::tokens_in_a_grant,
         "a token fits a signed column");
  expect(holder.expires_in && holder.expires_in->count() >= 0, "a lease left");
  expect(*holder.expires_in <= core::longest_lease, "no lease is longer than the longest");
  expect(!holder.waiters || *holder.waiters > 0, "somebody waits, or it is not known");
}

void check(const Answer& answer) {
  const auto longest = std::chrono::microseconds(core::longest_lease);
  if (answer.kind == Answer::Kind::granted) {
    expect(answer.number > 0 && answer.number < core::grant_number_limit, "a number");
  }
  // All of them become nanoseconds.
  for (const auto time : {answer.age, answer.lease, answer.left}) {
    expect(time.count() >= 0 && time <= longest, "a time of 24 h at most");
  }
  if (answer.holder) check(*answer.holder);
}

/// The next value: its length, and its bytes; a length above 250 is a null.
void put(PGresult* result, int row, int column, Input& input) {
  const std::uint8_t size = input.byte();
  std::string bytes(input.bytes(size <= 250 ? size : 0));
  expect(PQsetvalue(result, row, column, bytes.data(),
                    size <= 250 ? static_cast<int>(bytes.size()) : -1) == 1,
         "libpq takes a value");
}

/// The first byte: how many rows and columns, and in what state the result is.
Result result_of(Input& input) {
  constexpr std::array states{PGRES_TUPLES_OK,    PGRES_COMMAND_OK,    PGRES_FATAL_ERROR,
                              PGRES_BAD_RESPONSE, PGRES_PIPELINE_SYNC, PGRES_PIPELINE_ABORTED};
  const std::uint8_t shape = input.byte();
  PGresult* const result = PQmakeEmptyPGresult(nullptr, states.at(shape / 32U % states.size()));
  const int width = shape % 8 % (columns + 1);
  const int rows = width == 0 ? 0 : shape / 8 % 4;
  std::string name = "c";
  std::array<PGresAttDesc, columns> names{};
  for (PGresAttDesc& each : names) each.name = name.data();
  if (width > 0) expect(PQsetResultAttrs(result, width, names.data()) == 1, "libpq takes columns");
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < width; ++column) put(result, row, column, input);
  }
  return Result(result);
}

void check_words(Input& input) {
  const std::string state(input.bytes(5));
  const std::string words(input.rest());
  const ServerError error = server_error("postgresql a:1", {state, words});
  expect(static_cast<bool>(error.failure), "an error is a failure");
  expect(error.failure.text.size() < 512, "short words");
  expect(mortise::fuzz::is_one_line(one_line(words)), "one line", words);
  if (const auto answer = Answer::parse(words)) check(*answer);
  const std::string bytes = bytes_of(words);
  expect(bytes.empty() || bytes.size() == words.size() / 2, "two digits a byte");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const Result result = result_of(input);
  if (const auto answer = Answer::of(result)) check(*answer);
  if (const auto outcome = release_outcome(result)) {
    expect(
        std::string_view("FAXNLTYMSU").find(static_cast<char>(*outcome)) != std::string_view::npos,
        "an outcome that exists");
  }
  if (const auto holder = holder_of(result); holder && *holder) check(**holder);
  if (const auto queue = queue_of(result, 8, false)) {
    expect(queue->holders.size() <= 8 && queue->waiters.size() <= 8, "as many as asked for");
    for (const auto& each : queue->holders) {
      expect(each.label.size() <= core::longest_label, "a label's length", each.label);
      expect(*each.expires_in <= core::longest_lease, "a lease's length");
    }
  }
  if (const auto facts = ServerFacts::read(result)) {
    expect(result.rows() == 1, "one row of facts");
  }
  static_cast<void>(result.error());
  check_words(input);
  return 0;
}
