// SPDX-License-Identifier: MIT
// Writes orders.csv: the submissions that an order service gets in a busy hour.
//
// Customers click twice, and browsers and gateways repeat a slow request. Of 2,000 orders 900 are
// submitted twice and 50 three times, the copies a few lines apart. Some customers order often. The
// program uses only the engine of the standard library, whose numbers are the same on all
// platforms.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr int orders = 2'000;
constexpr int submitted_twice = 900;
constexpr int submitted_thrice = 50;
constexpr int customers = 150;
constexpr std::array prices{499,   799,   990,   1'290, 1'499,  1'995, 2'450,
                            2'999, 3'990, 4'995, 7'900, 12'900, 19'900};
constexpr int shipping = 495;
constexpr int free_shipping_from = 5'000;

class Dice {
 public:
  /// @return a number from 0 up to 1.
  double operator()() { return static_cast<double>(engine_() >> 11U) * 0x1p-53; }
  /// @return a number from 0 up to `limit`; a larger `skew` returns small numbers more often.
  int below(std::size_t limit, double skew = 1) {
    return static_cast<int>(static_cast<double>(limit) * std::pow((*this)(), skew));
  }

 private:
  std::mt19937_64 engine_{2026};
};

/// @return the price of one to four articles, with shipping for small orders.
int amount(Dice& dice) {
  int total = 0;
  for (int articles = 1 + dice.below(4); articles > 0; --articles) {
    total += prices.at(static_cast<std::size_t>(dice.below(prices.size(), 1.6)));
  }
  return total >= free_shipping_from ? total : total + shipping;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("usage: make_orders FILE\n", stderr);
    return 2;
  }
  Dice dice;
  std::vector<int> copies(orders, 1);
  std::fill_n(copies.begin(), submitted_thrice, 3);
  std::fill_n(copies.begin() + submitted_thrice, submitted_twice, 2);
  for (std::size_t i = copies.size() - 1; i > 0; --i) {
    std::swap(copies[i], copies[static_cast<std::size_t>(dice.below(i + 1))]);
  }
  // The moment of a submission is the position of its order in the hour, plus a little for a copy.
  std::vector<std::pair<double, std::string>> lines;
  int number = 117;
  for (int place = 0; place < orders; ++place) {
    number += dice() < 0.06 ? 2 : 1;  // some carts are given up, and their numbers are not used
    std::array<char, 64> line{};
    const int customer = 1'001 + 7 * dice.below(customers, 1.5);
    std::snprintf(line.data(), line.size(), "A-2026-%06d,C-%d,%d", number, customer, amount(dice));
    for (int copy = 0; copy < copies[static_cast<std::size_t>(place)]; ++copy) {
      lines.emplace_back(place + copy * (0.2 + 3 * dice()), line.data());
    }
  }
  std::sort(lines.begin(), lines.end());
  std::FILE* const file = std::fopen(arguments[1], "w");
  if (file == nullptr) {
    std::perror(arguments[1]);
    return 1;
  }
  std::fputs("order,customer,amount_cents\n", file);
  for (const auto& [moment, line] : lines) std::fprintf(file, "%s\n", line.c_str());
  return std::fclose(file) == 0 ? 0 : 1;
}
