// SPDX-License-Identifier: MIT
// An observer that counts events, for the metrics of a service, and writes a log. The library
// itself never prints.
#include <mortise/memory.hpp>
#include <mortise/mortise.hpp>

#include <atomic>
#include <chrono>
#include <exception>
#include <iostream>
#include <memory>
#include <mutex>
#include <semaphore>
#include <sstream>
#include <stop_token>
#include <string>

using namespace std::chrono_literals;

namespace {

// [observer]
// Several threads call its members at once. They must not throw.
class Journal final : public mortise::Observer {
 public:
  void granted(const mortise::Event& event) noexcept override {
    ++grants_;
    log(event, "granted");
  }
  void contended(const mortise::Event& event) noexcept override {
    ++contentions_;
    log(event, "contended");
  }
  void lost(const mortise::Event& event, const mortise::Failure& why) noexcept override {
    ++losses_;
    log(event, "lost: " + why.text);
  }
  void released(const mortise::Event& event, mortise::Released outcome) noexcept override {
    log(event, outcome == mortise::Released::released ? "released" : "release in doubt");
  }
  // [/observer]

  [[nodiscard]] std::string counts() const {
    std::ostringstream out;
    out << "granted " << grants_ << ", contended " << contentions_ << ", lost " << losses_;
    return out.str();
  }

 private:
  void log(const mortise::Event& event, const std::string& what) noexcept try {
    const std::scoped_lock lock(mutex_);
    std::cout << event.name << " [" << event.label << "] " << what << "\n";
  } catch (const std::exception&) {
    // The service goes on if the log cannot be written.
  }

  std::mutex mutex_;
  std::atomic<int> grants_{0};
  std::atomic<int> contentions_{0};
  std::atomic<int> losses_{0};
};

// An administrator deletes the lock at the server. The client notices at its next renewal.
bool lose(mortise::memory::Server& server, mortise::Lock& lock) {
  mortise::Guard guard(lock);
  std::binary_semaphore noticed(0);
  const std::stop_callback on_loss(guard.lost(), [&noticed] { noticed.release(); });
  server.drop(lock.name());
  return noticed.try_acquire_for(5s);
}

std::string demonstrate() {
  mortise::memory::Server server;
  const auto journal = std::make_shared<Journal>();
  {
    mortise::Client client(server.backend(), {.observer = journal});
    mortise::Client rival(server.backend());
    mortise::Lock stock = client.make_lock("stock/7", {.label = "shelf 3"});
    mortise::Lock rivals = rival.make_lock("stock/7");
    { const std::scoped_lock hold(stock); }
    {
      const std::scoped_lock hold(rivals);
      if (stock.try_lock_for(10ms)) stock.unlock();
    }
    mortise::Lock price = client.make_lock("price/7", {.lease = 150ms, .label = "till 1"});
    if (!lose(server, price)) return "the client did not notice the loss";
  }
  return journal->counts();
}

}  // namespace

int main() try {
  const std::string counts = demonstrate();
  std::cout << counts << "\n";
  return counts == "granted 2, contended 1, lost 1" ? 0 : 1;
} catch (const std::exception& e) {
  std::cerr << "custom_observer: " << e.what() << "\n";
  return 1;
}
