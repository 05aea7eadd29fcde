// SPDX-License-Identifier: MIT
// An observer to copy. It writes one line to stderr for each event that an operator needs, in the
// form that log collectors read (key=value). custom_observer.cpp counts as well.
#include <mortise/memory.hpp>
#include <mortise/mortise.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>

using namespace std::chrono_literals;

namespace {

// [log]
class LogObserver final : public mortise::Observer {
 public:
  void lost(const mortise::Event& event, const mortise::Failure& why) noexcept override {
    line("lost", event, why.text);  // an alarm: two owners may have worked at the same time
  }
  void failed(const mortise::Event& event, const mortise::Failure& why) noexcept override {
    line("failed", event, why.words());  // an early warning: the library tries again
  }
  void wait_ended(const mortise::Event& event, const mortise::Failure& why) noexcept override {
    if (why) line("gave_up", event, why.words());  // timeout, cancelled, closed, or an error
  }
  void released(const mortise::Event& event, mortise::Released outcome) noexcept override {
    if (outcome != mortise::Released::released) line("release_in_doubt", event);
  }

 private:
  static void line(std::string_view what, const mortise::Event& event,
                   std::string_view why = {}) noexcept try {
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(event.took);
    std::ostringstream out;
    out << "mortise event=" << what << " name=\"" << event.name
        << "\" token=" << event.token.value() << " took_ms=" << took.count() << " why=\"" << why
        << "\"\n";
    std::cerr << out.str();  // in one piece, because several threads call these members at once
  } catch (const std::exception&) {
    // The service goes on if the log cannot be written.
  }
};
// [/log]

}  // namespace

int main() try {
  mortise::memory::Server server;
  mortise::Client client(server.backend(), {.observer = std::make_shared<LogObserver>()});
  mortise::Lock lock = client.make_lock("stock/7", {.lease = 300ms});
  const mortise::Guard guard(lock);
  server.set_reachable(false);  // renewals fail until the lease ends
  std::this_thread::sleep_for(1s);
  return guard.lost().stop_requested() ? 0 : 1;
} catch (const std::exception& e) {
  std::cerr << "log_observer: " << e.what() << "\n";
  return 2;
}
