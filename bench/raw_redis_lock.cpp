// SPDX-License-Identifier: MIT
#include "raw_redis_lock.hpp"

#include <mortise/options.hpp>

#include "base/random_id.hpp"
#include "redis/store/answer.hpp"
#include "redis/store/requests.hpp"
#include "redis/store/scripts.hpp"

#include <hiredis/hiredis.h>

#include <unistd.h>

#include <array>
#include <stdexcept>
#include <vector>

namespace mortise::bench {
namespace {

constexpr std::uint64_t some_number = 1'234'567'890'123'456;  // as long as a real one
constexpr redis::ServerTime no_end{8'000'000'000'000'000};    // no request is late

const redis::Requests& requests() {
  static const redis::Settings settings;
  static const redis::Requests instance(settings);
  return instance;
}

/// The words of a formatted command: *count, then each as $size and bytes.
std::vector<std::string> words_of(const std::string& bytes) {
  std::vector<std::string> words;
  std::size_t at = bytes.find("\r\n") + 2;
  while (at < bytes.size()) {
    const std::size_t from = bytes.find("\r\n", at) + 2;
    const std::size_t size = std::stoul(bytes.substr(at + 1));
    words.push_back(bytes.substr(from, size));
    at = from + size + 2;
  }
  return words;
}

std::vector<std::string> acquire_words(const std::string& name, const AttemptId& attempt) {
  Acquisition::Request request{.attempt = attempt, .name = name, .wait = true};
  request.lease = LockOptions().lease;
  std::array<char, 64> host{};
  ::gethostname(host.data(), host.size() - 1);
  request.label.append(host.data()).append(":").append(std::to_string(::getpid()));
  std::string bytes;
  requests().acquire(bytes, {.deadline = no_end}, request, true);
  return words_of(bytes);
}

std::vector<std::string> release_words(const std::string& name, const AttemptId& attempt) {
  std::string bytes;
  requests().release(bytes, {}, {.name = name, .attempt = attempt, .number = some_number}, nullptr,
                     false);
  return words_of(bytes);
}

/// @return the digits of a sequence number, as the library writes them.
std::string digits_of(std::uint64_t sequence) {
  return std::string(redis::AttemptText({.sequence = sequence}).view().substr(16));
}

// Four digits, of which there are always as many.
constexpr std::uint64_t first_sequence = std::uint64_t{1} << 18U;

constexpr std::string_view plain_acquire = R"lua(
local mine = redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1
if not mine then return redis.call('pttl', KEYS[1]) end
redis.call('hincrby', KEYS[1], ARGV[2], 1)
redis.call('pexpire', KEYS[1], ARGV[1])
return nil)lua";

constexpr std::string_view plain_release = R"lua(
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then return nil end
if redis.call('hincrby', KEYS[1], ARGV[2], -1) > 0 then
  redis.call('pexpire', KEYS[1], ARGV[1])
  return 0
end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[2], '0')
return 1)lua";

}  // namespace

OwnScripts::OwnScripts(const std::string& name)
    : OwnScripts(name, {.client_high = base::random_bits() >> 32U,
                        .client_low = base::random_bits(),
                        .sequence = first_sequence}) {}

OwnScripts::OwnScripts(const std::string& name, const AttemptId& attempt)
    : acquire_(acquire_words(name, attempt)),
      release_(release_words(name, attempt)),
      attempt_of_acquire_(acquire_.place_of(redis::AttemptText(attempt).view())),
      attempt_of_release_(release_.place_of(redis::AttemptText(attempt).view())),
      number_of_release_(release_.place_of(std::to_string(some_number))) {}

RawCommand& OwnScripts::acquire() {
  acquire_.overwrite_end(attempt_of_acquire_, digits_of(first_sequence + ++sequence_));
  return acquire_;
}

RawCommand& OwnScripts::release(const redisReply& granted) {
  // {'granted', now, number, ...}
  if (granted.elements < 3 || granted.element[2]->type != REDIS_REPLY_INTEGER) {
    throw std::runtime_error("not granted");
  }
  release_.overwrite_end(attempt_of_release_, acquire_.texts()[attempt_of_acquire_]);
  release_.overwrite_end(number_of_release_, std::to_string(granted.element[2]->integer));
  return release_;
}

void OwnScripts::load(RawRedis& redis) {
  redis.load(redis::scripts::acquire.text);
  redis.load(redis::scripts::release.text);
}

PlainScripts::PlainScripts(const std::string& name, const std::string& owner)
    : acquire_({"EVALSHA", "", "1", name, "30000", owner}),
      release_({"EVALSHA", "", "2", name, "channel:{" + name + "}", "30000", owner}) {}

void PlainScripts::load(RawRedis& redis) {
  acquire_.set(1, redis.text({"SCRIPT", "LOAD", std::string(plain_acquire)}));
  release_.set(1, redis.text({"SCRIPT", "LOAD", std::string(plain_release)}));
}

}  // namespace mortise::bench
