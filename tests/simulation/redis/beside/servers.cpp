// SPDX-License-Identifier: MIT
#include "simulation/redis/beside/servers.hpp"

#include "redis/store/command.hpp"

#include <optional>
#include <thread>

namespace simulation::redis {
namespace {

constexpr std::chrono::milliseconds between_servers{1};
constexpr std::chrono::milliseconds a_step{1};
constexpr std::chrono::milliseconds between_questions{10};
constexpr int own_connection = -1;

/// As RedisAnswer::words() has it.
std::string words_in(std::string_view& bytes) {
  const std::size_t end = bytes.find("\r\n");
  const std::string first(bytes.substr(1, end - 1));
  const char sign = bytes.front();
  bytes.remove_prefix(end + 2);
  if (sign == ':') return "(integer) " + first;
  if (sign == '-') return "(error) " + first;
  if (sign == '+') return '"' + first + '"';
  if (first == "-1") return "(nil)";
  const auto size = static_cast<std::size_t>(std::stoul(first));
  if (sign == '$') {
    std::string text = '"' + std::string(bytes.substr(0, size)) + '"';
    bytes.remove_prefix(size + 2);
    return text;
  }
  std::string out;
  for (std::size_t i = 0; i < size; ++i) out += (i == 0 ? "" : ", ") + words_in(bytes);
  return "[" + out + "]";
}

}  // namespace

std::string Servers::hear(std::size_t server, int connection, std::chrono::milliseconds within) {
  std::string words = heard(server, connection, within);
  for (std::size_t i = 0; i < size(); ++i) {
    const std::string number = std::to_string(port(i));
    for (std::size_t at = 0; (at = words.find(number, at)) != std::string::npos;) {
      words.replace(at, number.size(), "port-" + std::to_string(i));
    }
  }
  return words;
}

std::string Servers::ask(std::size_t server, int connection, const Words& words) {
  say(server, connection, words);
  return hear(server, connection);
}

bool Servers::comes_to_answer(std::size_t server, const Words& words,
                              const std::function<bool(const std::string&)>& right) {
  for (std::chrono::milliseconds waited{0}; waited < 2 * patience; waited += between_questions) {
    if (right(ask(server, own_connection, words))) return true;
    pass(between_questions);
  }
  return false;
}

mortise::test::RedisTalk& RealServers::line(std::size_t server, int connection) {
  const auto found = lines_.find({server, connection});
  if (found != lines_.end()) return found->second;
  return lines_.emplace(std::pair(server, connection), mortise::test::RedisTalk(port(server)))
      .first->second;
}

void RealServers::say(std::size_t server, int connection, const Words& words) {
  line(server, connection).send(words);
}

std::string RealServers::heard(std::size_t server, int connection,
                               std::chrono::milliseconds within) {
  try {
    const auto answer = line(server, connection).receive(within);
    return answer ? answer->words() : "nothing";
  } catch (const mortise::test::RedisTalkError&) {
    return "the end";
  }
}

void RealServers::pass(std::chrono::milliseconds time) { std::this_thread::sleep_for(time); }

class ModelServers::Place final : public Site {
 public:
  Place(ModelServers& all, std::size_t number) : all_(all), number_(number) {}
  [[nodiscard]] Nanos wall() const override { return all_.now_; }
  [[nodiscard]] Nanos uptime() const override { return all_.now_; }
  [[nodiscard]] std::uint64_t random() override {
    return seed_ = seed_ * 6364136223846793005U + 1 + number_;
  }
  void send(ConnectionId connection, std::string_view bytes) override {
    sent[connection].append(bytes);
  }
  void hang_up(ConnectionId connection) override { ended.insert(connection); }
  void after(Nanos delay, std::function<void()> then) override {
    all_.events_.emplace(all_.now_ + delay, std::move(then));
  }
  void note(std::string_view /*words*/) override {}

  std::map<ConnectionId, std::string> sent;
  std::set<ConnectionId> ended;

 private:
  ModelServers& all_;
  const std::size_t number_;
  std::uint64_t seed_ = 1;
};

ModelServers::ModelServers(std::size_t servers, const Options& options)
    : halted_(servers), kept_(servers) {
  for (std::size_t i = 0; i < servers; ++i) {
    places_.push_back(std::make_unique<Place>(*this, i));
    models_.push_back(std::make_unique<RedisModel>(*places_.back(), options));
  }
}

ModelServers::~ModelServers() = default;

void ModelServers::carry(std::size_t /*from*/, std::size_t to, std::function<void()> then) {
  events_.emplace(now_ + between_servers, [this, to, then = std::move(then)] {
    if (halted_[to]) {
      kept_[to].push_back(then);
    } else {
      then();
    }
  });
}

void ModelServers::halt(std::size_t server, bool yes) {
  halted_[server] = yes;
  if (yes) return;
  for (const auto& each : std::exchange(kept_[server], {})) each();
}

void ModelServers::say(std::size_t server, int connection, const Words& words) {
  const auto [line, made] = lines_.try_emplace({server, connection}, lines_.size() + 1);
  if (made) models_[server]->opened(line->second);
  const std::vector<std::string_view> views(words.begin(), words.end());
  std::string bytes;
  mortise::redis::append_command(bytes, views);
  models_[server]->received(line->second, bytes);
}

void ModelServers::step() {
  now_ += a_step;
  while (!events_.empty() && events_.begin()->first <= now_) {
    const auto then = std::move(events_.begin()->second);
    events_.erase(events_.begin());
    then();
  }
}

void ModelServers::pass(std::chrono::milliseconds time) {
  const auto until = now_ + time;
  while (now_ < until) step();
}

std::string ModelServers::heard(std::size_t server, int connection,
                                std::chrono::milliseconds within) {
  const auto until = now_ + within;
  const ConnectionId line = lines_.at({server, connection});
  std::string& sent = places_[server]->sent[line];
  for (;;) {
    if (const auto size = answer_size(sent); !sent.empty() && size) {
      std::string_view bytes = sent;
      std::string words = words_in(bytes);
      sent.erase(0, *size);
      return words;
    }
    if (places_[server]->ended.contains(line)) return "the end";
    if (now_ >= until) return "nothing";
    step();
  }
}

}  // namespace simulation::redis
