// SPDX-License-Identifier: MIT
#include "drill/order_service.hpp"

#include "support/eventually.hpp"
#include "support/free_port.hpp"
#include "support/text_of.hpp"

#include <chrono>
#include <stdexcept>

namespace mortise::drill {
namespace {

using namespace std::chrono_literals;

httplib::Client ask(int port, std::chrono::seconds patience) {
  httplib::Client sender("127.0.0.1", port);
  sender.set_connection_timeout(2s);
  sender.set_read_timeout(patience);
  return sender;
}

Answer answer_of(const httplib::Result& result) {
  return result ? Answer{result->status, result->body} : Answer{};
}

}  // namespace

LabelPartner::LabelPartner() {
  server_.new_task_queue = [] { return new httplib::ThreadPool(32); };
  server_.set_keep_alive_max_count(1);
  server_.Get("/label", [this](const httplib::Request& request, httplib::Response& response) {
    print_label(request.get_param_value("order"));
    response.set_content("label", "text/plain");
  });
  port_ = server_.bind_to_any_port("127.0.0.1");
  if (port_ <= 0) throw std::runtime_error("the partner has no port");
  thread_ = std::thread([this] { server_.listen_after_bind(); });
}

LabelPartner::~LabelPartner() {
  {
    const std::scoped_lock lock(mutex_);
    for (auto& [order, state] : kept_) state = Kept::answered;
  }
  changed_.notify_all();
  static_cast<void>(test::eventually([&] { return server_.is_running(); }));
  server_.stop();
  thread_.join();
}

void LabelPartner::keep(const std::string& order) {
  const std::scoped_lock lock(mutex_);
  kept_[order] = Kept::awaited;
}

bool LabelPartner::keeps(const std::string& order) const {
  const std::scoped_lock lock(mutex_);
  const auto found = kept_.find(order);
  return found != kept_.end() && found->second == Kept::here;
}

void LabelPartner::answer(const std::string& order) {
  {
    const std::scoped_lock lock(mutex_);
    kept_[order] = Kept::answered;
  }
  changed_.notify_all();
}

void LabelPartner::print_label(const std::string& order) {
  {
    std::unique_lock lock(mutex_);
    const auto found = kept_.find(order);
    if (found != kept_.end() && found->second == Kept::awaited) {
      found->second = Kept::here;
      changed_.wait(lock, [&] { return found->second == Kept::answered; });
      return;
    }
  }
  const int with_me = ++now_;
  for (int seen = most_; seen < with_me && !most_.compare_exchange_weak(seen, with_me);) {
  }
  std::this_thread::sleep_for(50ms);  // how long it takes to print one
  --now_;
}

// Another program may take a port before the copy does: then it ends, and others are tried.
void ServiceCopies::start(std::size_t copy, const std::vector<std::string>& arguments) {
  Copy& its = copies_.at(copy);
  std::vector<std::string> words{"-c", R"(log=$0 && exec "$@" >>"$log" 2>&1)", log_file(copy),
                                 program_};
  const std::size_t ports = words.size();
  words.insert(words.end(), 2, {});
  words.insert(words.end(), arguments.begin(), arguments.end());
  for (int tries = 0; tries < 5; ++tries) {
    its.port = test::free_port();
    its.operators_port = test::free_port();
    words[ports] = std::to_string(its.port);
    words[ports + 1] = std::to_string(its.operators_port);
    its.process = model::Process::spawn("/bin/sh", words);
    bool ended = false;
    const bool decided = test::eventually([&] {
      ended = its.process.wait_for(0ms).has_value();
      return ended || answer_of(ask(its.operators_port, 10s).Get("/health")).status == 200;
    });
    if (decided && !ended) return;
  }
  throw std::runtime_error("a copy does not start:\n" + log(copy));
}

std::string ServiceCopies::log(std::size_t copy) const { return test::text_of(log_file(copy)); }

std::string ServiceCopies::log_file(std::size_t copy) const {
  return directory_.file("copy" + std::to_string(copy));
}

Answer ServiceCopies::get(std::size_t copy, const std::string& path) const {
  return answer_of(ask(copies_.at(copy).port, 10s).Get(path));
}

std::string ServiceCopies::metrics(std::size_t copy) const {
  return answer_of(ask(copies_.at(copy).operators_port, 10s).Get("/metrics")).body;
}

Answer ServiceCopies::post(std::size_t copy, const std::string& path, const Form& form,
                           const std::string& key, std::chrono::seconds patience) const {
  return answer_of(
      ask(copies_.at(copy).port, patience).Post(path, {{"Idempotency-Key", key}}, form));
}

}  // namespace mortise::drill
