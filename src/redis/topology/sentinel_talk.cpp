// SPDX-License-Identifier: MIT
// SENTINEL MASTER for the epoch of the configuration, then GET-MASTER-ADDR-BY-NAME for the address.
// While a fail-over goes on the second is ahead of the first (sentinel.c,
// sentinelGetCurrentMasterAddress()); asked in this order an epoch never belongs to an older
// address than the one that is told with it.
#include "redis/topology/sentinel_talk.hpp"

#include "base/error_words.hpp"
#include "base/whole_number.hpp"
#include "redis/store/command.hpp"
#include "redis/store/rights.hpp"
#include "redis/store/server_error.hpp"
#include "remote/link.hpp"

#include <poll.h>

#include <algorithm>
#include <exception>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace mortise::redis {
namespace {

constexpr ReplyLimits answer_limits{.bytes = std::size_t{16} << 10U, .items = 512};
constexpr std::size_t longest_host = 255;

bool is_a_host(const std::string& text) {
  return !text.empty() && text.size() <= longest_host &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

}  // namespace

SentinelTalk::SentinelTalk(const Settings& settings, const remote::Tls* tls)
    : settings_(settings), approach_(tls, nullptr, {}, descriptor_, sentinel_time) {}

SentinelTalk::~SentinelTalk() = default;

void SentinelTalk::ask(const base::Address& sentinel, Instant now) {
  end();
  sentinel_ = sentinel;
  answer_ = {};
  answered_ = false;
  approach_.start(sentinel);
  // As any name: where all of them were given up sooner, a name server that takes longer would be
  // asked for ever, since the next question makes it forget the last one.
  until_ = now + remote::connect_time;
  state_ = State::approaching;
}

void SentinelTalk::end() noexcept {
  state_ = State::idle;
  stream_.reset();
  input_.end();
  input_.rest();
  approach_.end();
}

int SentinelTalk::descriptor() const noexcept {
  if (state_ == State::approaching) return descriptor_.load();
  return stream_ ? stream_->descriptor() : -1;
}

short SentinelTalk::interest() const noexcept {
  if (state_ == State::approaching) return approach_.interest();
  if (!stream_) return 0;
  const int more = stream_->interest();
  return static_cast<short>(more | POLLIN | (out_.empty() ? 0 : POLLOUT));
}

Instant SentinelTalk::due() const noexcept {
  if (!asks()) return never;
  const bool connects = state_ == State::approaching && approach_.connects();
  return connects ? approach_.due() : until_;
}

std::optional<SentinelAnswer> SentinelTalk::advance(Instant now) {
  if (state_ == State::approaching) come_closer(now);
  if (!answered_ && state_ == State::answering) read(now);
  const bool connects = state_ == State::approaching && approach_.connects();
  if (!answered_ && asks() && !connects && until_ <= now) {
    give_up_address({Errc::unavailable, sentinel_.text() + ": no answer in time"}, now);
  }
  if (!answered_) return std::nullopt;
  end();
  answered_ = false;
  return std::move(answer_);
}

void SentinelTalk::come_closer(Instant now) {
  using Approaching = remote::Approach::Step;
  const Approaching step = approach_.advance(now);
  if (step == Approaching::failed) {
    const Failure& why = approach_.failure();
    return fail(static_cast<Errc>(why.code.value()), why.text);
  }
  if (step != Approaching::arrived) return;
  stream_ = approach_.take();
  until_ = remote::connect_limit(approach_.since(), now, sentinel_time);
  say();
}

// The name has other addresses, which are asked instead.
void SentinelTalk::give_up_address(Failure why, Instant now) {
  if (state_ != State::answering || !approach_.has_more()) return fail(std::move(why));
  stream_.reset();
  input_.end();
  state_ = State::approaching;
  come_closer(now);
}

void SentinelTalk::say() {
  out_.clear();
  steps_.clear();
  const auto add = [this](Step step, std::initializer_list<std::string_view> words) {
    append_command(out_, {words.begin(), words.size()});
    steps_.push_back(step);
  };
  const SentinelSettings& asked = *settings_.sentinels;
  try {
    if (const std::optional<std::string> password = asked.credentials.current()) {
      if (asked.credentials.user.empty()) {
        add(Step::authenticate, {"AUTH", *password});
      } else {
        add(Step::authenticate, {"AUTH", asked.credentials.user, *password});
      }
    }
  } catch (const Error& error) {  // the password's file
    return fail(error.errc(), base::words_of(error));
  }
  add(Step::epoch, {"SENTINEL", "MASTER", asked.master});
  add(Step::address, {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", asked.master});
  input_.begin(answer_limits);
  state_ = State::answering;
}

/// @return false: the connection is of no use
bool SentinelTalk::write() {
  while (!out_.empty()) {
    const remote::Stream::Moved moved = stream_->write(out_);
    if (moved.status == remote::Stream::Status::again) break;
    if (moved.status != remote::Stream::Status::done) return false;
    out_.erase(0, moved.bytes);
  }
  return true;
}

void SentinelTalk::read(Instant now) {
  bool is_good = write();
  while (is_good && !answered_) {
    const remote::Stream::Moved moved = input_.read(*stream_, false);
    if (moved.status == remote::Stream::Status::again) return;
    is_good = moved.status == remote::Stream::Status::done;
    for (bool more = is_good; more && !answered_;) {
      const ReplyReader::Next next = input_.next();
      more = next != ReplyReader::Next::more;
      if (next == ReplyReader::Next::broken) return fail(Errc::protocol, input_.error());
      if (more) take(input_.reply());
    }
  }
  if (is_good) return;
  give_up_address({Errc::unavailable, sentinel_.text() + ": " + stream_->failure().text}, now);
}

void SentinelTalk::take(const Reply& reply) {
  if (steps_.empty()) {
    return fail(Errc::protocol, "the reply is not from a sentinel; check host and port");
  }
  const Step step = steps_.front();
  steps_.pop_front();
  switch (step) {
    case Step::authenticate:
      if (reply.kind == Reply::Kind::status) return;
      if (reply.is_error()) return fail(refusal_of_auth(sentinel_.text(), reply.text).failure);
      return fail(Errc::protocol, "the reply is not from a sentinel; check host and port");
    case Step::epoch: return take_epoch(reply);
    case Step::address: return take_address(reply);
  }
}

// Its user may be without the right to ask for it, and goes without: see Sentinels.
void SentinelTalk::take_epoch(const Reply& reply) {
  if (reply.kind != Reply::Kind::array) return;
  for (std::size_t i = 0; i + 1 < reply.items.size(); i += 2) {
    if (reply.items[i].text != "config-epoch") continue;
    answer_.epoch = base::whole_number<std::uint64_t>(reply.items[i + 1].text).value_or(0);
  }
}

void SentinelTalk::take_address(const Reply& reply) {
  if (reply.is_error()) {
    // Only a server of another kind has never heard of the command.
    if (reply.text.starts_with("ERR unknown command")) {
      return fail(Errc::misconfigured, "this is not a sentinel; use redis:// for a Redis server");
    }
    Failure why = server_error(sentinel_.text(), reply.text).failure;
    if (what_is_refused(reply.text) != Refused::nothing) {
      why.text +=
          remedy(settings_.sentinels->credentials.user, "+sentinel|get-master-addr-by-name");
    }
    return fail(std::move(why));
  }
  if (reply.kind == Reply::Kind::nil) {
    return fail(Errc::unavailable, "the sentinel does not know that master");
  }
  const bool two = reply.kind == Reply::Kind::array && reply.items.size() == 2;
  const auto port = two ? base::whole_number<std::uint16_t>(reply.items[1].text, 1) : std::nullopt;
  if (!port || !is_a_host(reply.items[0].text)) {
    return fail(Errc::protocol, "the reply is not from a sentinel; check host and port");
  }
  answer_.master = {.host = reply.items[0].text, .port = *port, .path = {}};
  approach_.remember(stream_->endpoint());
  answered_ = true;
}

void SentinelTalk::fail(Errc code, const std::string& words) {
  fail({code, sentinel_.text() + ": " + words});
}

void SentinelTalk::fail(Failure why) {
  answer_ = {};
  answer_.failure = std::move(why);
  answered_ = true;
}

}  // namespace mortise::redis
