// SPDX-License-Identifier: MIT
#include "simulation/zookeeper/beside/conversation.hpp"

#include <algorithm>

namespace simulation::zookeeper {
namespace {

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
    : place_(place), clients_(sessions) {
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
      if (!hear_all(step.who, out)) begin(step.who, step.server, session_timeout);
      break;
    case Step::Kind::end:
      client.send(op::close_session);
      hear_all(step.who, out);
      if (client.hear(words_)) out.push_back(line(step.who, "the server goes on"));
      begin(step.who, step.server, session_timeout);
      break;
    case Step::Kind::move: come_back(step, out); break;
    case Step::Kind::expire:
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

void Conversation::come_back(const Step& step, std::vector<std::string>& out) {
  Client& client = *clients_[step.who];
  client.drop();
  if (!client.connect(step.server)) {
    out.push_back(line(step.who, "cannot come back"));
    begin(step.who, step.server, session_timeout);
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
  for (std::size_t other = 0; other < clients_.size(); ++other) {
    if (other == who) continue;
    std::vector<std::string> heard;
    clients_[other]->send(op::ping);
    hear_all(other, heard);
    // The nodes of a session go in the order of a hash table.
    if (any_order) std::sort(heard.begin(), heard.end());
    out.insert(out.end(), heard.begin(), heard.end());
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
