// SPDX-License-Identifier: MIT
// Many processes read a price list, and one changes it now and then. Readers do not wait for each
// other, and no reader sees half of a new list. std::shared_lock and std::unique_lock do it.
// usage: price_list [url of a store that has readers, such as redis://127.0.0.1]
#include <mortise/mortise.hpp>

#include <atomic>
#include <chrono>
#include <exception>
#include <iostream>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

/// Stands for the database of the prices. Each access takes a while.
struct PriceList {
  std::map<std::string, int> cents{{"pen", 120}, {"ink", 450}};

  void raise_all() {
    for (auto& [article, price] : cents) {
      price += 10;
      std::this_thread::sleep_for(5ms);
    }
  }
};

// [readers]
int sum(mortise::Client& client, const PriceList& list) {
  mortise::ReadWriteLock lock = client.make_read_write_lock("price list");
  const std::shared_lock reading(lock);  // together with the readers of all processes
  std::this_thread::sleep_for(2ms);
  return list.cents.at("pen") + list.cents.at("ink");
}

void raise(mortise::Client& client, PriceList& list) {
  mortise::ReadWriteLock lock = client.make_read_write_lock("price list");
  const std::unique_lock writing(lock);  // alone; later readers wait until it is done
  list.raise_all();
}
// [/readers]

}  // namespace

int main(int argc, char** argv) try {
  const std::string url = argc > 1 ? argv[1] : "memory:shop";
  mortise::Client shop(url);
  mortise::Client office(url);
  PriceList list;
  std::atomic<int> halves{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 10; ++n) {
        if ((sum(shop, list) - 570) % 20 != 0) ++halves;
      }
    });
  }
  for (int i = 0; i < 3; ++i) raise(office, list);
  threads.clear();
  std::cout << "three raises, " << halves << " sums of a list in between\n";
  return halves == 0 ? 0 : 1;
} catch (const std::exception& e) {
  std::cerr << "price_list: " << e.what() << "\n";
  return 2;
}
