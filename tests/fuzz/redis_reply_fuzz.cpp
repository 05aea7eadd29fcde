// SPDX-License-Identifier: MIT
// Goal: bytes of a Redis server that is no Redis, or no friend, become replies within the limits,
// the same ones however they are cut, and all that is read of them is within its range. Method: the
// first byte says how they are cut; each reply is then taken for everything that it may answer.
#include "core/figures.hpp"
#include "fuzz/fuzz.hpp"
#include "redis/connection/greeting.hpp"
#include "redis/store/answer.hpp"
#include "redis/store/attempts.hpp"
#include "redis/store/listing.hpp"
#include "redis/store/lock_key.hpp"
#include "redis/store/reply.hpp"
#include "redis/store/server_error.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace {

using namespace mortise::redis;
using mortise::Failure;
using mortise::fuzz::expect;
using mortise::fuzz::Input;
namespace core = mortise::core;

constexpr ReplyLimits limits{.bytes = 256, .items = 32};

struct Read {
  std::vector<Reply> replies;
  bool broken = false;
};

Read read(std::string_view bytes, std::size_t step) {
  Read out;
  ReplyReader reader(limits);
  for (std::size_t at = 0; at < bytes.size() && !out.broken; at += step) {
    reader.feed(bytes.substr(at, step));
    Reply reply;
    auto next = reader.next(reply);
    for (; next == ReplyReader::Next::reply; next = reader.next(reply)) {
      out.replies.push_back(reply);
    }
    out.broken = next == ReplyReader::Next::broken;
  }
  expect(out.broken != reader.error().empty(), "who breaks says why", reader.error());
  expect(mortise::fuzz::is_one_line(reader.error()), "the words quote no bytes", reader.error());
  return out;
}

struct Size {
  std::size_t bytes = 0;
  std::size_t items = 0;
};

Size size_of(const Reply& reply) {
  Size size{.bytes = reply.text.size(), .items = reply.items.size()};
  for (const Reply& item : reply.items) {
    const Size more = size_of(item);
    size.bytes += more.bytes;
    size.items += more.items;
  }
  return size;
}

bool same(const Reply& a, const Reply& b) {
  if (a.kind != b.kind || a.integer != b.integer || a.text != b.text) return false;
  if (a.items.size() != b.items.size()) return false;
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    if (!same(a.items[i], b.items[i])) return false;
  }
  return true;
}

void check_lease(std::chrono::milliseconds lease) {
  expect(lease.count() >= 0 && lease <= core::longest_lease, "a lease of 24 h at most");
}

void check(const mortise::Record& record) {
  const bool absent = record.state == mortise::KeyState::absent;
  expect(record.number < core::grant_number_limit, "a run's grant is exact");
  expect(absent == (record.run == 0) && absent == (record.number == 0), "a run has both numbers");
  expect(record.fingerprint.size() <= mortise::longest_fingerprint, "a short fingerprint");
  expect(record.bytes.size() <= mortise::longest_outcome, "an outcome of 64 KiB at most");
  const bool concluded =
      record.state == mortise::KeyState::succeeded || record.state == mortise::KeyState::failed;
  expect(concluded || record.bytes.empty(), "no outcome without one");
}

void check(const Answer& answer) {
  expect(answer.number < core::grant_number_limit, "a grant's number is exact");
  expect(answer.holding.number < core::grant_number_limit, "a holder's number is exact");
  expect(answer.holding.label.size() <= core::longest_label, "a short label");
  expect(answer.last_number < core::grant_number_limit, "the last grant's number is exact");
  expect(answer.permits < core::grant_number_limit, "a number of permits");
  const bool reads = answer.holding.mode == mortise::Mode::shared;
  expect(!reads || answer.holding.number != 0, "who reads has a number");
  expect(answer.left.count() >= 0, "a lease left");
  if (answer.kind == Answer::Kind::granted) expect(answer.number != 0, "a grant has a number");
  expect((answer.kind == Answer::Kind::recorded) == (answer.record != nullptr), "one has a record");
  if (answer.record) check(*answer.record);
  if (const auto holder = answer.holder()) expect(holder->expires_in->count() >= 0, "a lease left");
}

void check_push(const Reply& message) {
  const auto push = Push::parse(message.text);
  if (!push) return;
  expect(push->number < core::grant_number_limit && !push->key.empty(), "a push of one lock");
  const bool reads = push->mode == mortise::Mode::shared;
  expect(!reads || push->kind == Push::Kind::taken, "a grant does not say how");
  check_lease(push->lease);
  // After a year of ours no difference between the clocks may overflow.
  const mortise::Instant asked{std::chrono::hours(24 * 365)};
  const Reading reading{.asked = asked, .at = std::chrono::microseconds(1'700'000'000'450'000)};
  const bool past = reading.not_later_than(push->granted_at) <= asked;
  expect(past == (push->granted_at <= reading.at), "what was before is before");
  if (const auto name = lock_name("mortise:", push->key)) {
    expect(lock_key("mortise:", *name) == push->key, "a key has one name", push->key);
  }
  if (const auto named = named_by("mortise:", push->key)) {
    expect(redis_key("mortise:", named->name, named->mode) == push->key, "a key has one name");
  }
}

void check_listing(const Reply& reply) {
  const std::string& text = reply.text;
  for (const auto mode : {mortise::Mode::exclusive, mortise::Mode::permit, mortise::Mode::once}) {
    const auto list = parse_list("mortise:", mode, reply);
    if (!list) continue;
    for (const std::string& name : list->left) {
      expect(!name.empty() && name.size() <= core::longest_name, "a lock's name", name);
    }
    const auto again = ListCursor::parse(list->text());
    expect(again && again->left == list->left, "a cursor reads as it was written", text);
  }
  if (auto cursor = ListCursor::parse(text)) {
    const mortise::NamePage page = cursor->take(2, "a");
    expect(page.names.size() <= 2, "a page within its limit");
    for (const std::string& name : page.names) expect(name.starts_with("a"), "its prefix", name);
  }
  std::vector<mortise::HoldMark> marks;
  if (const auto queue = parse_queue(reply, &marks)) {
    expect(marks.size() <= 1, "one holder without a number");
    expect(queue->holders.size() <= mortise::longest_page, "few");
    expect(queue->waiters.size() <= mortise::longest_page, "few");
    expect(queue->waiters_in_all.has_value(), "all are counted");
    for (const auto& waiter : queue->waiters) {
      expect(waiter.label.size() <= core::longest_label, "a short label");
      expect(waiter.silent_for && waiter.silent_for->count() >= 0, "a time");
    }
    for (const auto& holder : queue->holders) {
      expect(!holder.age || holder.age->count() >= 0, "an age");
      expect(holder.label.size() <= core::longest_label, "a short label");
      expect(holder.expires_in && holder.expires_in->count() >= 0, "a time");
      expect(holder.mode == mortise::Mode::exclusive || holder.token, "who shares has a number");
    }
  }
}

void check(const Reply& reply) {
  if (reply.is_error()) {
    const ServerError error = server_error("redis a:1", reply.text);
    expect(error.failure && mortise::fuzz::is_one_line(error.failure.text), "one line of words");
    expect(error.failure.text.size() < 256, "short words");
  }
  if (const auto answer = Answer::parse(reply)) check(*answer);
  for (const std::uint64_t code : parse_codes(reply, "renewed", 3)) expect(code <= 3, "a code");
  if (const auto answer = ReleaseAnswer::parse(reply); answer && answer->successor) {
    check(*answer->successor);
  }
  if (const auto attempt = parse_attempt(reply.text)) {
    expect(parse_attempt(AttemptText(*attempt).view()) == attempt, "one text an attempt");
  }
  check_push(reply);
  check_listing(reply);
  for (const Reply& item : reply.items) check(item);
}

void greet(const std::vector<Reply>& replies, const std::string& inbox) {
  Settings settings;
  settings.login.credentials = {.user = "me", .password = "s3cr3t", .password_file = {}};
  settings.login.database = 1;
  Greeting greeting(settings, inbox);
  for (const Reply& reply : replies) {
    if (greeting.done()) break;
    const Failure failure = greeting.read("redis a:1", reply);
    expect(failure.text.size() < 512, "short words", failure.text);
  }
  expect(greeting.facts().run_id.size() <= 64 && greeting.facts().version.size() <= 40, "facts");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const std::size_t step = input.byte() % 16 + 1U;
  const std::string_view bytes = input.rest();
  const Read whole = read(bytes, bytes.size() + 1);
  const Read cut = read(bytes, step);
  expect(whole.broken == cut.broken && whole.replies.size() == cut.replies.size(), "cut alike");
  for (std::size_t i = 0; i < whole.replies.size(); ++i) {
    const Reply& reply = whole.replies[i];
    expect(same(reply, cut.replies[i]), "the same replies");
    const Size found = size_of(reply);
    expect(found.bytes <= limits.bytes && found.items <= limits.items, "within the limits");
    check(reply);
  }
  greet(whole.replies, "");
  greet(whole.replies, "inbox");
  return 0;
}
