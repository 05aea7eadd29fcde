// SPDX-License-Identifier: MIT
#include "submissions.hpp"

#include "options.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string_view>
#include <unordered_map>

namespace shop {
namespace {

constexpr std::int64_t most_cents = 100'000'000'000;  // sums of many amounts still fit 64 bits

bool is_name(std::string_view text) {
  constexpr std::string_view allowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
  return !text.empty() && text.size() <= 64 && text.front() != '.' &&
         text.find_first_not_of(allowed) == std::string_view::npos;
}

bool parse(std::string_view line, Submission& out) {
  const std::size_t first = line.find(',');
  const std::size_t second = first == std::string_view::npos ? first : line.find(',', first + 1);
  if (second == std::string_view::npos) return false;
  out.order = line.substr(0, first);
  out.customer = line.substr(first + 1, second - first - 1);
  const std::string_view amount = line.substr(second + 1);
  const auto [end, error] =
      std::from_chars(amount.data(), amount.data() + amount.size(), out.cents);
  return error == std::errc() && end == amount.data() + amount.size() && out.cents > 0 &&
         out.cents <= most_cents && is_name(out.order) && is_name(out.customer);
}

}  // namespace

std::vector<Submission> read_submissions(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line)) throw BadInput(path.string() + ": cannot be read");
  if (line != "order,customer,amount_cents") {
    throw BadInput(path.string() + ":1: the header must be order,customer,amount_cents");
  }
  std::vector<Submission> result;
  std::unordered_map<std::string, std::size_t> first;
  while (std::getline(file, line)) {
    const std::string place = path.string() + ":" + std::to_string(result.size() + 2) + ": ";
    Submission next;
    if (!parse(line, next)) throw BadInput(place + "not an order, a customer and an amount");
    const auto [found, added] = first.emplace(next.order, result.size());
    const Submission& earlier = added ? next : result[found->second];
    if (earlier.customer != next.customer || earlier.cents != next.cents) {
      throw BadInput(place + next.order + " has another customer or amount further up");
    }
    result.push_back(std::move(next));
  }
  if (result.empty()) throw BadInput(path.string() + ": no submissions");
  return result;
}

std::vector<std::vector<Task>> deal(const std::vector<Submission>& submissions,
                                    std::size_t processes) {
  struct Order {
    std::size_t rank = 0;    // its index among the distinct orders
    std::size_t moment = 0;  // the position of its first copy in the file
    std::size_t copies = 0;
    std::size_t dealt = 0;
  };
  std::unordered_map<std::string_view, Order> orders;
  for (std::size_t i = 0; i < submissions.size(); ++i) {
    const Order fresh{.rank = orders.size(), .moment = i};
    ++orders.emplace(submissions[i].order, fresh).first->second.copies;
  }
  std::vector<std::vector<Task>> desks(processes);
  for (std::size_t i = 0; i < submissions.size(); ++i) {
    Order& order = orders.at(submissions[i].order);
    const std::size_t process = (order.rank + order.dealt++) % processes;
    desks[process].push_back({i, order.moment, order.copies > 1});
  }
  for (std::vector<Task>& desk : desks) {
    std::stable_sort(desk.begin(), desk.end(),
                     [](const Task& a, const Task& b) { return a.moment < b.moment; });
  }
  return desks;
}

}  // namespace shop
