// SPDX-License-Identifier: MIT
#include "raw_redis_pipeline.hpp"

#include "raw_redis_lock.hpp"

#include <hiredis/hiredis.h>

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace mortise::bench {
namespace {

constexpr std::chrono::nanoseconds warm_up = std::chrono::milliseconds(50);
constexpr std::chrono::nanoseconds length = std::chrono::milliseconds(500);

struct FreeReader {
  void operator()(redisReader* reader) const noexcept { ::redisReaderFree(reader); }
};

/// One connection. Each cycle has one command under way, and replies come in the order of commands.
class Pipeline {
 public:
  Pipeline(std::uint16_t port, int in_flight, int number)
      : redis_(port), reader_(::redisReaderCreate()) {
    for (int i = 0; i < in_flight; ++i) {
      cycles_.push_back({OwnScripts("bench/" + std::to_string(number) + "/" + std::to_string(i))});
    }
    for (Cycle& cycle : cycles_) {
      append(cycle.scripts.acquire());
      waiting_.push_back(&cycle);
    }
    send();
  }

  [[nodiscard]] int socket() const noexcept { return redis_.socket(); }

  /// Reads what is there and answers each reply with the next command. @return cycles that ended
  int go_on() {
    std::array<char, 16384> bytes;
    const ssize_t size = ::recv(socket(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (size <= 0) throw std::system_error(errno, std::generic_category(), "recv");
    ::redisReaderFeed(reader_.get(), bytes.data(), static_cast<std::size_t>(size));
    int ended = 0;
    for (;;) {
      void* reply = nullptr;
      if (::redisReaderGetReply(reader_.get(), &reply) != REDIS_OK) {
        throw std::runtime_error(reader_->errstr);
      }
      if (reply == nullptr) break;
      ended += take(RawReply(static_cast<redisReply*>(reply)));
    }
    send();
    return ended;
  }

 private:
  struct Cycle {
    OwnScripts scripts;
    bool holds = false;
  };

  int take(const RawReply& reply) {
    Cycle& cycle = *waiting_.front();
    waiting_.pop_front();
    waiting_.push_back(&cycle);
    const bool ended = cycle.holds;
    const bool freed =
        reply->elements > 0 && std::string_view(reply->element[0]->str) == "released";
    if (ended && !freed) throw std::runtime_error("not freed");
    append(ended ? cycle.scripts.acquire() : cycle.scripts.release(*reply));
    cycle.holds = !ended;
    return ended ? 1 : 0;
  }

  void append(RawCommand& command) {
    char* bytes = nullptr;
    const int size =
        ::redisFormatCommandArgv(&bytes, command.count(), command.texts(), command.sizes());
    if (size < 0) throw std::bad_alloc();
    out_.append(bytes, static_cast<std::size_t>(size));
    ::redisFreeCommand(bytes);
  }

  /// Waits until the socket has taken all bytes. The server continues to read while its replies
  /// wait.
  void send() {
    const ssize_t sent = ::send(socket(), out_.data(), out_.size(), MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(out_.size())) {
      throw std::system_error(errno, std::generic_category(), "send");
    }
    out_.clear();
  }

  RawRedis redis_;
  std::unique_ptr<redisReader, FreeReader> reader_;
  std::vector<Cycle> cycles_;
  std::deque<Cycle*> waiting_;
  std::string out_;
};

/// @return cycles that ended
std::int64_t run_for(std::chrono::nanoseconds time, std::vector<std::unique_ptr<Pipeline>>& all,
                     std::vector<pollfd>& polled) {
  const std::int64_t until = now_ns() + time.count();
  std::int64_t ended = 0;
  while (now_ns() < until) {
    ::poll(polled.data(), polled.size(), 1000);
    for (std::size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].revents != 0) ended += all[i]->go_on();
    }
  }
  return ended;
}

}  // namespace

Rate pipelined_cycles(std::uint16_t port, int connections, int in_flight) {
  RawRedis redis(port);
  OwnScripts::load(redis);
  std::vector<std::unique_ptr<Pipeline>> all;
  std::vector<pollfd> polled;
  for (int i = 0; i < connections; ++i) {
    all.push_back(std::make_unique<Pipeline>(port, in_flight, i));
    polled.push_back({.fd = all.back()->socket(), .events = POLLIN, .revents = 0});
  }
  run_for(warm_up, all, polled);
  const RateMeter meter;
  return meter.rate_of(static_cast<double>(run_for(length, all, polled)));
}

}  // namespace mortise::bench
