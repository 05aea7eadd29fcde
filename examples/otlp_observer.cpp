// SPDX-License-Identifier: MIT
// An observer for OpenTelemetry. Each wait and each hold becomes a span: one line of OTLP/JSON,
// which the `otlpjsonfile` receiver of the collector reads. It needs nlohmann-json3-dev. Debian 12
// has no OpenTelemetry SDK for C++. If you have the SDK, start and end the same spans with it.
#include <mortise/memory.hpp>
#include <mortise/mortise.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <utility>

using namespace std::chrono_literals;
using nlohmann::json;

namespace {

/// The trace context that a service receives with each request. Here each thread has one.
struct Trace {
  std::string id;      ///< 32 digits
  std::string parent;  ///< the current span: 16 digits; empty = none
};
thread_local Trace current_trace;

std::string random_id(int words) {
  thread_local std::mt19937_64 random(std::random_device{}());
  std::string id;
  for (int word = 0; word < words; ++word) {
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx",
                  static_cast<unsigned long long>(random() | 1U));  // never all zero
    id += digits;
  }
  return id;
}

// [otlp]
class OtlpObserver final : public mortise::Observer {
 public:
  OtlpObserver(std::string service, std::ostream& out) : service_(std::move(service)), out_(out) {}
  // Called on the caller's thread, so the trace is known.
  void wait_ended(const mortise::Event& event, const mortise::Failure& why) noexcept override {
    span("wait", event, current_trace, why.words());
  }
  void released(const mortise::Event& event, mortise::Released outcome) noexcept override {
    const bool certain = outcome == mortise::Released::released;
    span("hold", event, current_trace, certain ? "" : "lost, or the release is in doubt");
  }
  // Called on a thread of the client, so the span has a trace of its own.
  void lost(const mortise::Event& event, const mortise::Failure& why) noexcept override {
    span("hold", event, {}, why.words());
  }

 private:
  void span(std::string_view what, const mortise::Event& event, Trace trace,
            const std::string& error) noexcept try {
    const auto end = std::chrono::system_clock::now().time_since_epoch();
    const auto nanos = [](std::chrono::nanoseconds time) { return std::to_string(time.count()); };
    const auto text = [](std::string_view key, std::string_view value) {
      return json{{"key", key}, {"value", {{"stringValue", value}}}};
    };
    if (trace.id.empty()) trace.id = random_id(2);
    json span{{"traceId", trace.id},
              {"spanId", random_id(1)},
              {"name", std::string(what) + " " + std::string(event.name)},
              {"kind", 1},  // internal
              {"startTimeUnixNano", nanos(end - event.took)},
              {"endTimeUnixNano", nanos(end)},
              {"attributes",
               {text("lock.name", event.name), text("lock.owner", event.label),
                text("lock.token", std::to_string(event.token.value()))}},
              {"status", {{"code", error.empty() ? 1 : 2}, {"message", error}}}};
    if (!trace.parent.empty()) span["parentSpanId"] = trace.parent;
    const json line{
        {"resourceSpans",
         {{{"resource", {{"attributes", {text("service.name", service_)}}}},
           {"scopeSpans", {{{"scope", {{"name", "mortise"}}}, {"spans", {std::move(span)}}}}}}}}};
    // A name may contain any bytes. Bytes that are not UTF-8 are replaced.
    const std::string text_of_line =
        line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
    const std::scoped_lock lock(mutex_);  // several threads call these members at once
    out_ << text_of_line << std::flush;
  } catch (const std::exception&) {
    // The service goes on if the span cannot be written.
  }

  const std::string service_;
  std::mutex mutex_;
  std::ostream& out_;
};
// [/otlp]

}  // namespace

int main() try {
  mortise::memory::Server server;
  mortise::Client client(server.backend(),
                         {.observer = std::make_shared<OtlpObserver>("shipping", std::cout)});
  mortise::Client rival(server.backend());
  current_trace = {.id = random_id(2), .parent = random_id(1)};  // of a request that came in
  mortise::Lock order = client.make_lock("orders/42", {.label = "ship-1"});
  { const std::scoped_lock hold(order); }
  mortise::Lock rivals = rival.make_lock("orders/42");
  const std::scoped_lock hold(rivals);
  return order.try_lock_for(10ms) ? 1 : 0;
} catch (const std::exception& e) {
  std::cerr << "otlp_observer: " << e.what() << "\n";
  return 1;
}
