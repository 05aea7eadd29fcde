// SPDX-License-Identifier: MIT
// An observer for spdlog (Debian: libspdlog-dev). Each event becomes a line of the logger that the
// service already has, at a level that fits. log_observer.cpp needs no library.
#include <mortise/memory.hpp>
#include <mortise/mortise.hpp>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <exception>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

using namespace std::chrono_literals;

namespace {

// [spdlog]
class SpdlogObserver final : public mortise::Observer {
 public:
  explicit SpdlogObserver(std::shared_ptr<spdlog::logger> logger) : logger_(std::move(logger)) {}
  void lost(const mortise::Event& event, const mortise::Failure& why) noexcept override {
    log(spdlog::level::err, "lost", event, why.text);  // two owners may have worked at once
  }
  void failed(const mortise::Event& event, const mortise::Failure& why) noexcept override {
    log(spdlog::level::warn, "failed", event, why.words());  // the library tries again
  }
  void wait_ended(const mortise::Event& event, const mortise::Failure& why) noexcept override {
    log(why ? spdlog::level::info : spdlog::level::debug, "wait_ended", event, why.words());
  }
  // [/spdlog]
  void waits(const mortise::Event& event) noexcept override {
    log(spdlog::level::debug, "waits", event);
  }
  void granted(const mortise::Event& event) noexcept override {
    log(spdlog::level::debug, "granted", event);
  }
  void released(const mortise::Event& event, mortise::Released outcome) noexcept override {
    const bool certain = outcome == mortise::Released::released;
    log(certain ? spdlog::level::debug : spdlog::level::warn,
        certain ? "released" : "release_in_doubt", event);
  }

 private:
  // spdlog does not throw: it reports its own errors to its error handler. A name may contain any
  // bytes, so escape it if another program parses the log.
  void log(spdlog::level::level_enum level, std::string_view what, const mortise::Event& event,
           std::string_view why = {}) noexcept {
    logger_->log(level, "mortise {} name={} label={} token={} took_ms={} why={}", what, event.name,
                 event.label, event.token.value(),
                 std::chrono::duration_cast<std::chrono::milliseconds>(event.took).count(), why);
  }

  std::shared_ptr<spdlog::logger> logger_;
};

}  // namespace

int main() try {
  const auto logger = spdlog::stdout_logger_mt("locks");
  logger->set_level(spdlog::level::debug);
  mortise::memory::Server server;
  mortise::Client client(server.backend(), {.observer = std::make_shared<SpdlogObserver>(logger)});
  mortise::Client rival(server.backend());
  mortise::Lock order = client.make_lock("orders/42");
  { const std::scoped_lock hold(order); }
  mortise::Lock rivals = rival.make_lock("orders/42");
  const std::scoped_lock hold(rivals);
  return order.try_lock_for(10ms) ? 1 : 0;
} catch (const std::exception& e) {
  std::cerr << "spdlog_observer: " << e.what() << "\n";
  return 1;
}
