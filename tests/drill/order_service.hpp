// SPDX-License-Identifier: MIT
// What the order service meets in its drill: the partner that prints labels, and a network over
// which copies are started, asked, killed and stopped.
#pragma once

#include "model/process.hpp"
#include "model/temporary.hpp"

#include <httplib.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace mortise::drill {

/// Prints labels, and counts how many requests it has at a time. Thread-safe.
class LabelPartner {
 public:
  LabelPartner();
  LabelPartner(const LabelPartner&) = delete;
  LabelPartner& operator=(const LabelPartner&) = delete;
  ~LabelPartner();

  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  /// The next request for this order gets no answer until `answer()`; those after it do.
  void keep(const std::string& order);
  /// @return whether that request is here.
  [[nodiscard]] bool keeps(const std::string& order) const;
  void answer(const std::string& order);
  /// @return the most requests at a time, without those that were kept.
  [[nodiscard]] int most() const noexcept { return most_; }

 private:
  enum class Kept { awaited, here, answered };
  void print_label(const std::string& order);

  httplib::Server server_;
  int port_ = 0;
  std::atomic<int> now_{0};
  std::atomic<int> most_{0};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Kept> kept_;
  std::thread thread_;
};

/// An answer of a copy; status 0: there was none.
struct Answer {
  int status = 0;
  std::string body;
};
using Form = httplib::Params;

/// The copies of the service, each with a log of its own. They are started, killed and stopped by
/// one thread, which outlives them; asked by any.
class ServiceCopies {
 public:
  static constexpr std::size_t count = 3;

  /// @param program the path of the service
  explicit ServiceCopies(std::string program) : program_(std::move(program)) {}

  /// @param arguments all but the ports. Returns when it answers. @throws std::runtime_error
  void start(std::size_t copy, const std::vector<std::string>& arguments);
  [[nodiscard]] model::Process& process(std::size_t copy) { return copies_.at(copy).process; }
  [[nodiscard]] std::string log(std::size_t copy) const;

  [[nodiscard]] Answer get(std::size_t copy, const std::string& path) const;
  /// What Prometheus would get.
  [[nodiscard]] std::string metrics(std::size_t copy) const;
  [[nodiscard]] Answer post(std::size_t copy, const std::string& path, const Form& form = {},
                            const std::string& key = {},
                            std::chrono::seconds patience = std::chrono::seconds(10)) const;

 private:
  struct Copy {
    model::Process process;
    std::atomic<int> port{0};
    std::atomic<int> operators_port{0};
  };
  [[nodiscard]] std::string log_file(std::size_t copy) const;

  const std::string program_;
  model::TemporaryDirectory directory_;
  std::array<Copy, count> copies_;
};

}  // namespace mortise::drill
