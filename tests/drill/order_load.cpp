// SPDX-License-Identifier: MIT
#include "drill/order_load.hpp"

#include "support/eventually.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

namespace mortise::drill {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t senders = 10;
// For all answers that are missing when a copy was stopped for long, and the machine is busy.
constexpr std::chrono::seconds last_answer{120};

std::size_t roll(std::mt19937_64& dice, std::size_t sides) { return dice() % sides; }

// 5xx, and no answer at all, are what a sender repeats.
bool stands(const Answer& answer) { return answer.status >= 200 && answer.status < 500; }

}  // namespace

OrderLoad::OrderLoad(const ServiceCopies& copies, std::uint64_t seed) : copies_(copies) {
  for (std::uint64_t sender = 0; sender < senders; ++sender) {
    senders_.emplace_back([this, seed, sender] { send(seed, sender); });
  }
}

void OrderLoad::stop() {
  stops_ = true;
  for (std::thread& sender : senders_) sender.join();
  senders_.clear();
}

void OrderLoad::send(std::uint64_t seed, std::uint64_t sender) {
  std::mt19937_64 dice(seed + sender);
  for (int number = 0; !stops_; ++number) {
    const std::size_t what = roll(dice, 20);
    if (what < 10) {
      const Submission next =
          submission(dice, std::to_string(sender) + "-" + std::to_string(number));
      const std::string name = order(next.key, next.form);
      const std::scoped_lock lock(mutex_);
      if (name != "sold out" && !name.empty()) orders_.push_back(name);
    } else if (what < 15) {
      ship(dice);
    } else if (what < 18) {
      transfer(dice);
    } else {
      look_at_stock(dice);
    }
  }
}

// A third are what somebody has sent already, maybe at this moment.
OrderLoad::Submission OrderLoad::submission(std::mt19937_64& dice, const std::string& fresh) {
  const std::scoped_lock lock(mutex_);
  if (!recent_.empty() && roll(dice, 3) == 0) return recent_[roll(dice, recent_.size())];
  Submission next{fresh,
                  {{"item", "item" + std::to_string(1 + roll(dice, 20))},
                   {"quantity", std::to_string(1 + roll(dice, 3))},
                   {"amount", std::to_string(1 + roll(dice, 100))}}};
  recent_.push_back(next);
  if (recent_.size() > 20) recent_.erase(recent_.begin());
  return next;
}

std::string OrderLoad::order(const std::string& key, const Form& form) {
  const Answer answer = until_answered("the order " + key, [&](std::size_t copy) {
    return copies_.post(copy, "/orders", form, key);
  });
  if (answer.status == 0) return {};
  const std::scoped_lock lock(mutex_);
  const auto known = ordered_.emplace(key, answer.body).first;
  if (known->second != answer.body) {
    contradictions_.push_back(key + " is " + known->second + ", and " + answer.body);
  }
  return answer.body;
}

void OrderLoad::ship(std::mt19937_64& dice) {
  std::string order;
  {
    const std::scoped_lock lock(mutex_);
    if (orders_.empty()) return;
    const std::size_t last = std::min<std::size_t>(orders_.size(), 30);
    order = orders_[orders_.size() - last + roll(dice, last)];
  }
  const Answer answer = until_answered("the shipment of " + order, [&](std::size_t copy) {
    return copies_.post(copy, "/orders/" + order + "/ship", {});
  });
  if (answer.status == 0) return;
  if (answer.status >= 400) contradict(order + " is not shipped: " + answer.body);
  const std::scoped_lock lock(mutex_);
  shipped_.insert(order);
}

// Sent once: whoever has no answer would have to look whether the money has moved.
void OrderLoad::transfer(std::mt19937_64& dice) {
  const std::size_t from = roll(dice, 10);
  const std::size_t to = (from + 1 + roll(dice, 9)) % 10;
  static_cast<void>(copies_.post(roll(dice, ServiceCopies::count), "/transfers",
                                 {{"from", std::to_string(1 + from)},
                                  {"to", std::to_string(1 + to)},
                                  {"amount", std::to_string(1 + roll(dice, 5))}}));
}

void OrderLoad::look_at_stock(std::mt19937_64& dice) {
  const Answer answer = copies_.get(roll(dice, ServiceCopies::count),
                                    "/stock/item" + std::to_string(1 + roll(dice, 20)));
  if (answer.status != 200) return;
  int left = 0;
  int sold = 0;
  int in_all = 0;
  const int read =
      std::sscanf(answer.body.c_str(), "%d left, %d sold of %d", &left, &sold, &in_all);
  if (read != 3 || left + sold != in_all) contradict("the stock was " + answer.body);
}

Answer OrderLoad::until_answered(const std::string& what,
                                 const std::function<Answer(std::size_t copy)>& ask) {
  Answer answer;
  const bool answered = test::eventually(
      [&] {
        answer = ask(next_copy_++ % ServiceCopies::count);
        return stands(answer);
      },
      last_answer);
  if (answered) return answer;
  contradict(what + " has no answer: " + answer.body);
  return {};
}

void OrderLoad::contradict(const std::string& words) {
  const std::scoped_lock lock(mutex_);
  contradictions_.push_back(words);
}

std::map<std::string, std::string> OrderLoad::ordered() const {
  const std::scoped_lock lock(mutex_);
  return ordered_;
}

std::set<std::string> OrderLoad::shipped() const {
  const std::scoped_lock lock(mutex_);
  return shipped_;
}

std::vector<std::string> OrderLoad::contradictions() const {
  const std::scoped_lock lock(mutex_);
  return contradictions_;
}

}  // namespace mortise::drill
