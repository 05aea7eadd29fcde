// SPDX-License-Identifier: MIT
#include "simulation/zookeeper/beside/conversation.hpp"

#include <algorithm>

namespace simulation::zookeeper {
namespace {

constexpr int most_tries = 100;
constexpr std::chrono::milliseconds between_tries{50};
constexpr std::chrono::milliseconds a_moment{10};
constexpr std::int32_t number_of_catching_up = 1'000'000;  // of any number of requests

// All frames without their events' names would differ by session only.
std::string line(std::size_t who, const std::string& words) {
  return std::to_string(who) + ": " + words;
}

std::string printable(std::string_view bytes) {
  std::string out;
  for (const char each : bytes) {
    const bool number = each > 0 && each < ' ';  // of the low ones, which matter, a letter
    out.push_back(number ? static_cast<char>('@' + each) : each >= ' ' && each <= '~' ? each : '.');
  }
  return out;
}

}  // namespace

std::string Step::words() const {
  std::string out = std::to_string(who);
  switch (kind) {
    case Kind::requests: out += " asks"; break;
    case Kind::end: out += " ends"; break;
    case Kind::move: out += " moves"; break;
    case Kind::expire: out += " expires"; break;
  }
  for (const auto& [type, body] : requests) {
    out += " (" + std::to_string(type) + " " + printable(body.str()) + ")";
  }
  for (const auto& list : watches) {
    out += " [";
    for (const std::string& path : list) out += path + " ";
    out += "]";
  }
  return kind == Kind::move ? out + " back " + std::to_string(back) : out;
}

Conversation::Conversation(Place& place, std::size_t sessions, std::size_t servers)
    : place_(place), apart_(servers > 1), clients_(sessions), heard_(sessions) {
  for (std::size_t i = 0; i < sessions; ++i) begin(i, i % servers, session_timeout);
  // From here on zxids are counted, the same on both sides.
  words_.set_offset(clients_.back()->ask(op::ping).zxid);
}

Conversation::~Conversation() {
  for (const auto& client : clients_) {
    try {
      client->ask(op::close_session);
    } catch (const std::exception&) {  // the test has failed already
    }
  }
}

void Conversation::begin(std::size_t who, std::size_t server, std::chrono::milliseconds timeout) {
  clients_[who] = std::make_unique<Client>(place_, server, timeout);
  words_.know_session(clients_[who]->welcome().session);
  if (apart_) clients_[who]->ask(op::ping);  // its beginning is a change as well
}

bool Conversation::hear_all(std::size_t who, std::vector<std::string>& out) {
  Client& client = *clients_[who];
  while (client.awaited() > 0) {
    const auto heard = client.hear(words_);
    if (!heard) {
      out.push_back(line(who, "the server hangs up"));
      return false;
    }
    out.push_back(line(who, *heard));
  }
  return true;
}

std::vector<std::string> Conversation::play(const Step& step) {
  std::vector<std::string> out;
  Client& client = *clients_[step.who];
  switch (step.kind) {
    case Step::Kind::requests:
      for (const auto& [type, body] : step.requests) client.send(type, body);
      if (!hear_all(step.who, out)) replace(step, out);
      break;
    case Step::Kind::end:
      end(step.who, out);
      if (client.hear(words_)) out.push_back(line(step.who, "the server goes on"));
      begin(step.who, step.server, session_timeout);
      break;
    case Step::Kind::move: come_back(step, out); break;
    case Step::Kind::expire:
      end(step.who, out);
      begin(step.who, step.server, short_timeout);
      for (const auto& [type, body] : step.requests) clients_[step.who]->send(type, body);
      hear_all(step.who, out);
      clients_[step.who]->drop();
      place_.wait(2 * short_timeout);
      out.push_back(line(step.who, clients_[step.who]->connect(step.server) ? "lives" : "is over"));
      begin(step.who, step.server, session_timeout);
      break;
  }
  const bool many = step.kind == Step::Kind::end || step.kind == Step::Kind::expire;
  hear_others(step.who, many, out);
  return out;
}

// The nodes of a session go in the order of a hash table.
void Conversation::end(std::size_t who, std::vector<std::string>& out) {
  clients_[who]->send(op::close_session);
  std::vector<std::string> heard;
  hear_all(who, heard);
  std::sort(heard.begin(), heard.end());
  out.insert(out.end(), heard.begin(), heard.end());
}

// One that is left behind would end at another moment here and there.
void Conversation::replace(const Step& step, std::vector<std::string>& out) {
  if (clients_[step.who]->connect(step.server)) end(step.who, out);
  begin(step.who, step.server, session_timeout);
}

void Conversation::come_back(const Step& step, std::vector<std::string>& out) {
  Client& client = *clients_[step.who];
  client.drop();
  // A server that lags behind what a client has seen sends it away.
  bool back = client.connect(step.server);
  for (int tries = 0; apart_ && !back && !client.expired() && tries < most_tries; ++tries) {
    place_.wait(between_tries);
    back = client.connect(step.server);
  }
  if (!back) {
    out.push_back(line(step.who, "cannot come back"));
    replace(step, out);
    return;
  }
  out.push_back(line(step.who, "timeout " + std::to_string(client.welcome().timeout)));
  Out body;
  body.int64(client.seen() - step.back);
  for (const auto& list : step.watches) {
    body.int32(static_cast<std::int32_t>(list.size()));
    for (const std::string& path : list) body.text(path);
  }
  client.send_as(xid::set_watches, op::set_watches, body);
  hear_all(step.who, out);
}

// A server has told them before it answers a ping that comes behind all that.
void Conversation::hear_others(std::size_t who, bool any_order, std::vector<std::string>& out) {
  if (apart_) catch_up();
  for (std::size_t other = 0; other < clients_.size(); ++other) {
    if (other != who) clients_[other]->send(op::ping);
  }
  for (std::size_t other = 0; other < clients_.size(); ++other) {
    if (other == who) continue;
    std::vector<std::string> heard = std::exchange(heard_[other], {});
    hear_all(other, heard);
    if (any_order) std::sort(heard.begin(), heard.end());
    out.insert(out.end(), heard.begin(), heard.end());
  }
}

// All that was committed is known to whoever has committed it; a sync at a leader is no promise
// that it has carried out what its followers have.
void Conversation::catch_up() {
  std::int64_t last = 0;
  for (const auto& client : clients_) last = std::max(last, client->seen());
  for (std::size_t each = 0; each < clients_.size(); ++each) {
    Client& client = *clients_[each];
    for (int tries = 0; client.seen() < last && tries < most_tries; ++tries) {
      std::vector<std::string> heard;
      if (tries > 0) place_.wait(a_moment);
      client.send_as(number_of_catching_up, op::sync, path_body("/"));
      const bool stands = hear_all(each, heard);
      if (stands) heard.pop_back();  // how often it was asked is nobody's affair
      heard_[each].insert(heard_[each].end(), heard.begin(), heard.end());
      if (!stands) break;
    }
  }
}

std::vector<std::string> Conversation::tree(const std::string& root) {
  std::vector<std::string> out;
  std::vector<std::string> left{root};
  while (!left.empty()) {
    const std::string path = std::move(left.back());
    left.pop_back();
    Client& client = *clients_.front();
    client.send(op::get_data, watch_body(path, false));
    hear_all(0, out);
    client.send(op::get_acl, path_body(path));
    hear_all(0, out);
    out.back() += " " + path;
    const Answer answer = client.ask(op::get_children, watch_body(path, false));
    if (answer.code != code::ok) continue;
    In in(answer.body);
    std::vector<std::string_view> names = in.texts();
    std::sort(names.begin(), names.end());
    for (const std::string_view name : names) left.push_back(path + "/" + std::string(name));
  }
  return out;
}

}  // namespace simulation::zookeeper
