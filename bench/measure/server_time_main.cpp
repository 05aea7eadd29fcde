// SPDX-License-Identifier: MIT
// The time that a Redis server spends in one call of each script, by its INFO commandstats: the
// library's requests as the backend sends them, and Redisson's, act by act in turn on the server of
// the unix socket that the argument names. It prints for each act the least mean of all rounds in
// us, ours and Redisson's.
#include "base/random_id.hpp"
#include "redis/store/answer.hpp"
#include "redis/store/requests.hpp"
#include "redis/store/scripts.hpp"
#include "redisson_scripts.hpp"
#include "redlock/requests.hpp"
#include "redlock/scripts.hpp"

#include <hiredis/hiredis.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::bench {
namespace {

constexpr std::size_t names = 2'000;
constexpr std::size_t under_way = 50;  // requests that are sent before the first reply is read
constexpr int rounds = 21;
constexpr std::chrono::milliseconds lease{30'000};

struct Free {
  void operator()(redisContext* context) const noexcept { redisFree(context); }
  void operator()(redisReply* reply) const noexcept { freeReplyObject(reply); }
};
using Reply = std::unique_ptr<redisReply, Free>;
using Words = std::vector<std::string>;

void append(std::string& out, const Words& command) {
  out += "*" + std::to_string(command.size()) + "\r\n";
  for (const std::string& word : command) {
    out += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  }
}

/// One blocking connection.
class Server {
 public:
  explicit Server(const char* socket) : context_(redisConnectUnix(socket)) {
    if (!context_ || context_->err != 0) throw std::runtime_error("no connection");
    redisSetTimeout(context_.get(), {.tv_sec = 30, .tv_usec = 0});
  }
  void send(const std::string& request) {
    if (redisAppendFormattedCommand(context_.get(), request.data(), request.size()) != REDIS_OK) {
      throw std::runtime_error(context_->errstr);
    }
  }
  void send(const Words& words) {
    std::string request;
    append(request, words);
    send(request);
  }
  Reply receive() {
    void* reply = nullptr;
    if (redisGetReply(context_.get(), &reply) != REDIS_OK)
      throw std::runtime_error(context_->errstr);
    Reply owned(static_cast<redisReply*>(reply));
    if (owned->type == REDIS_REPLY_ERROR) throw std::runtime_error(owned->str);
    return owned;
  }
  /// @return the string of the reply, or its number as one; of a list those of its first item;
  /// empty if it is nil
  std::string ask(const Words& words) {
    send(words);
    return text_of(*receive());
  }
  static std::string text_of(const redisReply& reply) {
    if (reply.type == REDIS_REPLY_ARRAY && reply.elements > 0) return text_of(*reply.element[0]);
    if (reply.type == REDIS_REPLY_INTEGER) return std::to_string(reply.integer);
    return reply.str == nullptr ? std::string() : std::string(reply.str, reply.len);
  }

 private:
  std::unique_ptr<redisContext, Free> context_;
};

/// @return the mean time of a script call since CONFIG RESETSTAT, in us.
double mean_time(Server& server) {
  const std::string stats = server.ask({"INFO", "commandstats"});
  const std::size_t at = stats.find("cmdstat_evalsha:");
  unsigned long long calls = 0;
  unsigned long long time = 0;
  if (at == std::string::npos ||
      std::sscanf(stats.c_str() + at, "cmdstat_evalsha:calls=%llu,usec=%llu", &calls, &time) != 2 ||
      calls != names) {
    throw std::runtime_error("INFO commandstats does not show the calls that were sent");
  }
  return static_cast<double>(time) / static_cast<double>(calls);
}

constexpr redis::ServerTime no_end{8'000'000'000'000'000};  // no request is late

/// The acts of one side. Each act sends a script call per name.
class Side {
 public:
  explicit Side(Server& server) : server_(server) {}

 protected:
  using Request = std::function<void(std::size_t, std::string&)>;      // appends that of a name
  using Accepts = std::function<bool(std::size_t, std::string_view)>;  // the reply for a name

  /// @return the mean time of a call in us
  double act(const char* what, const Request& request, const Accepts& accepts) {
    server_.ask({"CONFIG", "RESETSTAT"});
    for (std::size_t first = 0; first < names; first += under_way) {
      for (std::size_t i = first; i < first + under_way; ++i) {
        std::string bytes;
        request(i, bytes);
        server_.send(bytes);
      }
      for (std::size_t i = first; i < first + under_way; ++i) {
        last_ = server_.receive();
        const std::string text = Server::text_of(*last_);
        if (accepts(i, text)) continue;
        throw std::runtime_error(std::string(what) + ": unexpected reply: " + text);
      }
    }
    return mean_time(server_);
  }

  static Accepts is(std::string_view word) {
    return [word](std::size_t, std::string_view text) { return text == word; };
  }
  /// @return an integer of the reply that is being looked at.
  [[nodiscard]] std::uint64_t item(std::size_t place) const {
    if (last_->elements <= place) return 0;
    return static_cast<std::uint64_t>(last_->element[place]->integer);
  }

 private:
  Server& server_;
  Reply last_;
};

/// The library's requests: one client holds the names, another one wants them.
class Ours : public Side {
 public:
  explicit Ours(Server& server, Server& inbox) : Side(server), requests_(settings_) {
    for (const redis::Script* script :
         {&redis::scripts::acquire, &redis::scripts::ask, &redis::scripts::cancel,
          &redis::scripts::release, &redis::scripts::renew}) {
      server.ask({"SCRIPT", "LOAD", std::string(script->text)});
    }
    std::string bytes;
    requests_.subscribe(bytes, requests_.inbox(waiter_));
    inbox.send(bytes);
    static_cast<void>(inbox.receive());
  }

  double acquire() {
    holder_.sequence += names;
    const Accepts granted = [&](std::size_t i, std::string_view text) {
      numbers_[i] = item(2);
      return text == "granted";
    };
    return act("acquire", asking(holder_, true), granted);
  }
  double try_once() {
    waiter_.sequence += names;
    return act("failed try", asking(waiter_, false), is("busy"));
  }
  double renew() {
    const Request request = [&](std::size_t i, std::string& out) {
      requests_.renew(out, {}, {{.hold = hold_of(i), .lease = lease}});
    };
    return act("renew", request, [&](std::size_t, std::string_view) { return item(2) == 1; });
  }
  double release() {
    const Request request = [&](std::size_t i, std::string& out) {
      requests_.release(out, {}, hold_of(i), nullptr, false);
    };
    return act("release", request, is("released"));
  }
  double join() {
    waiter_.sequence += names;
    return act("join", asking(waiter_, true), is("queued"));
  }
  /// The same for a client that does not listen: its connection has broken.
  void join_without_inbox() { act("join", asking(client(), true), is("queued")); }
  /// As a client does each second, of all its waiters at once; here of one.
  double ask_again() {
    const Request request = [&](std::size_t i, std::string& out) {
      requests_.ask(out, {},
                    {std::make_shared<Acquisition>(request_of(attempt_of(waiter_, i), i, true))});
    };
    return act("ask again", request, is("waiting"));
  }
  double cancel() {
    const Request request = [&](std::size_t i, std::string& out) {
      requests_.cancel(out, {}, request_of(attempt_of(waiter_, i), i, true), std::nullopt);
    };
    return act("cancel", request, is("busy"));
  }

 private:
  static AttemptId client() {
    return {.client_high = base::random_bits() >> 32U,
            .client_low = base::random_bits(),
            .sequence = std::uint64_t{1} << 18U};
  }
  static AttemptId attempt_of(AttemptId client, std::size_t name) {
    client.sequence += name;
    return client;
  }
  static Acquisition::Request request_of(const AttemptId& attempt, std::size_t name, bool wait) {
    Acquisition::Request request{.attempt = attempt, .name = name_of(name), .wait = wait};
    request.lease = lease;
    request.label = "host:1234";
    return request;
  }
  static std::string name_of(std::size_t name) { return "measured-" + std::to_string(name); }
  [[nodiscard]] Request asking(const AttemptId& client, bool wait) const {
    return [this, client, wait](std::size_t i, std::string& out) {
      requests_.acquire(out, {.deadline = no_end}, request_of(attempt_of(client, i), i, wait),
                        wait);
    };
  }
  [[nodiscard]] HoldId hold_of(std::size_t name) const {
    return {.name = name_of(name), .attempt = attempt_of(holder_, name), .number = numbers_[name]};
  }

  const redis::Settings settings_;
  const redis::Requests requests_;
  AttemptId holder_ = client();
  AttemptId waiter_ = client();
  std::array<std::uint64_t, names> numbers_{};
};

/// The votes of one server of a quorum: one client holds the names, another one wants them.
class Votes : public Side {
 public:
  explicit Votes(Server& server) : Side(server) {
    for (const redis::Script* script :
         {&redlock::scripts::acquire, &redlock::scripts::renew, &redlock::scripts::release}) {
      server.ask({"SCRIPT", "LOAD", std::string(script->text)});
    }
  }
  double acquire() {
    holder_.sequence += names;
    number_ += names;
    return act("vote", asking(holder_), is("vote"));
  }
  double try_once() {
    rival_.sequence += names;
    return act("refused vote", asking(rival_), is("busy"));
  }
  double renew() {
    const Request request = [this](std::size_t i, std::string& out) {
      requests_.renew(out, {}, {{.hold = hold_of(i), .lease = lease}});
    };
    return act("renewed vote", request, is("renewed"));
  }
  double release() {
    const Request request = [this](std::size_t i, std::string& out) {
      requests_.undo(out, {}, hold_of(i).name, hold_of(i).attempt, true);
    };
    return act("release of a vote", request, is("released"));
  }

 private:
  [[nodiscard]] Request asking(const AttemptId& client) const {
    return [this, client](std::size_t i, std::string& out) {
      AttemptId attempt = client;
      attempt.sequence += i;
      requests_.take(out, {.void_after = no_end},
                     {.attempt = attempt,
                      .name = "vote-" + std::to_string(i),
                      .lease = lease,
                      .label = "host:1234"},
                     {}, number_);
    };
  }
  [[nodiscard]] HoldId hold_of(std::size_t name) const {
    AttemptId attempt = holder_;
    attempt.sequence += name;
    return {.name = "vote-" + std::to_string(name), .attempt = attempt, .number = number_};
  }

  const redlock::Requests requests_{"mortise:"};
  AttemptId holder_{.client_high = 1, .client_low = 2, .sequence = std::uint64_t{1} << 18U};
  AttemptId rival_{.client_high = 1, .client_low = 3, .sequence = std::uint64_t{1} << 18U};
  std::uint64_t number_ = 1'700'000'000'000'000;
};

/// Redisson's scripts of a lock without a queue, or of its fair lock.
class Redissons : public Side {
 public:
  Redissons(Server& server, Server& inbox, bool fair) : Side(server), fair_(fair) {
    const auto load = [&](std::string_view text) {
      return server.ask({"SCRIPT", "LOAD", std::string(text)});
    };
    lock_ = load(fair ? redisson::fair_lock : redisson::lock);
    unlock_ = load(fair ? redisson::fair_unlock : redisson::unlock);
    renew_ = load(redisson::renew);
    cancel_ = load(redisson::fair_cancel);
    if (!fair) return;
    for (std::size_t i = 0; i < names; ++i) {
      inbox.send(Words{"SUBSCRIBE", channel_of(i) + ":" + waiter});
      static_cast<void>(inbox.receive());
    }
  }

  double acquire() { return lock(holder, is_nil); }
  double try_once() { return lock(waiter, is_time); }
  double join() { return lock(waiter, is_time); }
  void join_without_inbox() { lock(unsubscribed, is_time); }
  double ask_again() { return lock(waiter, is_time); }
  double renew() {
    const Request request = [&](std::size_t i, std::string& out) {
      append(out, {"EVALSHA", renew_, "1", name_of(i), "30000", holder});
    };
    return act("Redisson's renew", request, is_one);
  }
  double release() { return act("Redisson's unlock", fair_ ? fair_unlock() : unlock(), is_one); }
  double cancel() {
    const Request request = [&](std::size_t i, std::string& out) {
      append(out, {"EVALSHA", cancel_, "2", queue_of(i), timeouts_of(i), waiter, "300000"});
    };
    return act("Redisson's cancel", request, is_nil);
  }

 private:
  static constexpr const char* holder = "5e1f0000-0000-4000-8000-100000000001:1";
  static constexpr const char* waiter = "5e1f0000-0000-4000-8000-100000000002:1";
  static constexpr const char* unsubscribed = "5e1f0000-0000-4000-8000-100000000003:1";

  [[nodiscard]] std::string name_of(std::size_t name) const {
    return (fair_ ? "fair-" : "plain-") + std::to_string(name);
  }
  [[nodiscard]] std::string queue_of(std::size_t name) const {
    return "redisson_lock_queue:{" + name_of(name) + "}";
  }
  [[nodiscard]] std::string timeouts_of(std::size_t name) const {
    return "redisson_lock_timeout:{" + name_of(name) + "}";
  }
  [[nodiscard]] std::string channel_of(std::size_t name) const {
    return "redisson_lock__channel:{" + name_of(name) + "}";
  }
  static std::string now() {
    const auto time = std::chrono::system_clock::now().time_since_epoch();
    return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
  }
  static bool is_nil(std::size_t /*name*/, std::string_view reply) { return reply.empty(); }
  static bool is_one(std::size_t /*name*/, std::string_view reply) { return reply == "1"; }
  /// The rest of a lease of 30,000 ms.
  static bool is_time(std::size_t /*name*/, std::string_view reply) {
    return reply.size() == 5 && reply.front() == '2';
  }
  double lock(const char* owner, const Accepts& accepts) {
    const Request request = [&](std::size_t i, std::string& out) {
      if (fair_) {
        append(out, {"EVALSHA", lock_, "3", name_of(i), queue_of(i), timeouts_of(i), "30000", owner,
                     "300000", now()});
      } else {
        append(out, {"EVALSHA", lock_, "1", name_of(i), "30000", owner});
      }
    };
    return act("Redisson's lock", request, accepts);
  }
  [[nodiscard]] Request fair_unlock() const {
    return [this](std::size_t i, std::string& out) {
      append(out, {"EVALSHA", unlock_, "4", name_of(i), queue_of(i), timeouts_of(i), channel_of(i),
                   "0", "30000", holder, now()});
    };
  }
  [[nodiscard]] Request unlock() {
    return [this](std::size_t i, std::string& out) {
      const std::string result =
          "redisson_unlock_latch:{" + name_of(i) + "}:" + std::to_string(++unlocked_);
      append(out, {"EVALSHA", unlock_, "3", name_of(i), channel_of(i), result, "0", "30000", holder,
                   "PUBLISH", "13500"});
    };
  }

  const bool fair_;
  std::string lock_, unlock_, renew_, cancel_;
  std::uint64_t unlocked_ = 1'000'000'000;  // requests have ids of one length
};

class Report {
 public:
  void add(const char* act, double ours, double redissons) {
    const auto [found, is_new] = least_.try_emplace(act, ours, redissons);
    if (is_new) order_.push_back(act);
    auto& [least_ours, least_redissons] = found->second;
    least_ours = std::min(least_ours, ours);
    least_redissons = std::min(least_redissons, redissons);
  }
  void print() const {
    for (const std::string& act : order_) {
      std::printf("%s\t%.2f\t%.2f\n", act.c_str(), least_.at(act).first, least_.at(act).second);
    }
  }

 private:
  std::map<std::string, std::pair<double, double>> least_;
  std::vector<std::string> order_;
};

/// Every name has been used before.
void start_afresh(Server& server, Ours& ours, Redissons& plain, Redissons& fair) {
  server.ask({"FLUSHALL"});
  ours.acquire();
  ours.release();
  plain.acquire();
  plain.release();
  fair.acquire();
  fair.release();
}

void measure(const char* socket) {
  Server server(socket);
  Server inbox(socket);
  Ours ours(server, inbox);
  Votes votes(server);
  Redissons plain(server, inbox, false);
  Redissons fair(server, inbox, true);
  Report report;
  for (int round = 0; round < rounds; ++round) {
    start_afresh(server, ours, plain, fair);
    votes.acquire();
    votes.release();
    report.add("acquire, free", ours.acquire(), plain.acquire());
    report.add("try, held", ours.try_once(), plain.try_once());
    report.add("renew one", ours.renew(), plain.renew());
    report.add("release, no waiter", ours.release(), plain.release());
    report.add("vote, free", votes.acquire(), plain.acquire());
    report.add("vote, held", votes.try_once(), plain.try_once());
    report.add("vote, renew", votes.renew(), plain.renew());
    report.add("vote, release", votes.release(), plain.release());
    ours.acquire();
    fair.acquire();
    report.add("join the queue", ours.join(), fair.join());
    report.add("ask again", ours.ask_again(), fair.ask_again());
    report.add("cancel", ours.cancel(), fair.cancel());
    ours.join();
    fair.join();
    report.add("release, one waiter", ours.release(), fair.release());
    for (std::size_t grants = 0; grants < 2 * names; ++grants) static_cast<void>(inbox.receive());
    start_afresh(server, ours, plain, fair);
    ours.acquire();
    fair.acquire();
    ours.join_without_inbox();
    fair.join_without_inbox();
    report.add("release, waiter gone", ours.release(), fair.release());
  }
  report.print();
}

}  // namespace
}  // namespace mortise::bench

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  try {
    mortise::bench::measure(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
