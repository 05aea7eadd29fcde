// SPDX-License-Identifier: MIT
// SENTINEL MASTER for the epoch of the configuration, then GET-MASTER-ADDR-BY-NAME for the address.
// While a fail-over goes on the second is ahead of the first (sentinel.c,
// sentinelGetCurrentMasterAddress()); asked in this order an epoch never belongs to an older
// address than the one that is told with it.
#include "redis/sentinel_talk.hpp"

#include "base/error_words.hpp"
#include "redis/command.hpp"
#include "redis/rights.hpp"
#include "redis/server_error.hpp"
#include "remote/link.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <exception>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>

namespace mortise::redis {
namespace {

constexpr ReplyLimits answer_limits{.bytes = std::size_t{16} << 10U, .items = 512};
constexpr std::size_t longest_host = 255;

template <class Number>
std::optional<Number> whole_number(const std::string& text) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

bool is_a_host(const std::string& text) {
  return !text.empty() && text.size() <= longest_host &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

}  // namespace

SentinelTalk::SentinelTalk(const Settings& settings, const remote::Tls* tls)
    : settings_(settings), race_(tls, sentinel_time) {}

SentinelTalk::~SentinelTalk() = default;

void SentinelTalk::ask(const base::Address& sentinel, Instant now) {
  end();
  sentinel_ = sentinel;
  answer_ = {};
  answered_ = false;
  resolver_.start(sentinel);
  // As any name: where all of them were given up sooner, a name server that takes longer would be
  // asked for ever, since the next question makes it forget the last one.
  until_ = now + remote::connect_time;
  state_ = State::resolving;
}

void SentinelTalk::end() noexcept {
  state_ = State::idle;
  stream_.reset();
  reader_.reset();
  race_.end();
}

int SentinelTalk::descriptor() const noexcept {
  switch (state_) {
    case State::idle: return -1;
    case State::resolving: return resolver_.descriptor();
    case State::connecting: return race_.descriptor();
    case State::answering: return stream_ ? stream_->descriptor() : -1;
  }
  return -1;
}

short SentinelTalk::interest() const noexcept {
  if (state_ == State::resolving) return POLLIN;
  if (state_ == State::connecting) return race_.interest();
  if (!stream_) return 0;
  const int more = stream_->interest();
  return static_cast<short>(more | POLLIN | (out_.empty() ? 0 : POLLOUT));
}

Instant SentinelTalk::due() const noexcept {
  if (!asks()) return never;
  return state_ == State::connecting ? race_.due() : until_;
}

std::optional<SentinelAnswer> SentinelTalk::advance(Instant now) {
  if (state_ == State::resolving) {
    if (std::optional<base::Resolution> found = resolver_.take()) {
      if (found->endpoints.empty()) {
        fail(found->code, found->error);
      } else {
        race_.start(std::move(found->endpoints), sentinel_.host);
        state_ = State::connecting;
      }
    }
  }
  if (!answered_ && state_ == State::connecting) connect(now);
  if (!answered_ && state_ == State::answering) read(now);
  const bool is_late = asks() && state_ != State::connecting && until_ <= now;
  if (!answered_ && is_late) {
    give_up_address({Errc::unavailable, sentinel_.text() + ": no answer in time"}, now);
  }
  if (!answered_) return std::nullopt;
  end();
  answered_ = false;
  return std::move(answer_);
}

void SentinelTalk::connect(Instant now) {
  switch (race_.advance(now)) {
    case remote::StreamRace::Status::again: return;
    case remote::StreamRace::Status::connected: break;
    case remote::StreamRace::Status::failed: {
      const Failure& why = race_.failure();
      return fail({static_cast<Errc>(why.code.value()), sentinel_.text() + ": " + why.text});
    }
  }
  stream_ = race_.take();
  until_ = race_.since() + sentinel_time;
  say();
}

// The name has other addresses, which are asked instead.
void SentinelTalk::give_up_address(Failure why, Instant now) {
  if (state_ != State::answering || !race_.has_more()) return fail(std::move(why));
  stream_.reset();
  reader_.reset();
  state_ = State::connecting;
  connect(now);
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
  reader_.emplace(answer_limits);
  state_ = State::answering;
}

void SentinelTalk::read(Instant now) {
  while (!out_.empty()) {
    const remote::Stream::Moved moved = stream_->write(out_);
    if (moved.status == remote::Stream::Status::again) break;
    if (moved.status != remote::Stream::Status::done) {
      return give_up_address({Errc::unavailable, sentinel_.text() + ": " + stream_->failure().text},
                             now);
    }
    out_.erase(0, moved.bytes);
  }
  std::array<char, 4096> buffer{};
  Reply reply;
  while (!answered_) {
    const remote::Stream::Moved moved = stream_->read(buffer);
    if (moved.status == remote::Stream::Status::again) return;
    if (moved.status != remote::Stream::Status::done) {
      return give_up_address({Errc::unavailable, sentinel_.text() + ": " + stream_->failure().text},
                             now);
    }
    reader_->feed({buffer.data(), moved.bytes});
    for (;;) {
      const ReplyReader::Next next = reader_->next(reply);
      if (next == ReplyReader::Next::more) break;
      if (next == ReplyReader::Next::broken) return fail(Errc::protocol, reader_->error());
      take(reply);
      if (answered_) return;
    }
  }
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
    answer_.epoch = whole_number<std::uint64_t>(reply.items[i + 1].text).value_or(0);
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
  const auto port = two ? whole_number<std::uint16_t>(reply.items[1].text) : std::nullopt;
  if (!port || *port == 0 || !is_a_host(reply.items[0].text)) {
    return fail(Errc::protocol, "the reply is not from a sentinel; check host and port");
  }
  answer_.master = {.host = reply.items[0].text, .port = *port, .path = {}};
  race_.remember(stream_->endpoint());
  answered_ = true;
}

void SentinelTalk::fail_with_stream() {
  const Failure why = stream_->failure();
  fail(static_cast<Errc>(why.code.value()), why.text);
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
