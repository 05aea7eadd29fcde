// SPDX-License-Identifier: MIT
#include "once.hpp"

#include <mortise/mortise.hpp>

#include "figure.hpp"

#include <memory>
#include <stdexcept>
#include <utility>

namespace mortise::bench {
namespace {

/// Names that no other round, and no other process, has used.
class NewNames {
 public:
  std::string next() { return start_ + std::to_string(++count_); }

 private:
  std::string start_ = "bench/once/" + std::to_string(now_ns()) + "/";
  std::uint64_t count_ = 0;
};

void expect_receipt(const Outcome& outcome, bool replayed) {
  if (outcome.result() != receipt() || outcome.replayed() != replayed) {
    throw std::runtime_error("the key is not run as it was to be");
  }
}

}  // namespace

const std::string& receipt() {
  static const std::string instance(200, 'r');
  return instance;
}

Work first_run(const std::string& url) {
  const auto client = std::make_shared<Client>(url);
  const auto names = std::make_shared<NewNames>();
  return [client, names] {
    Once once = client->make_once(names->next());
    expect_receipt(once.run([] { return receipt(); }), false);
  };
}

Work replay(const std::string& url) {
  const auto client = std::make_shared<Client>(url);
  const auto once = std::make_shared<Once>(client->make_once(NewNames().next()));
  once->run([] { return receipt(); });
  return [client, once] { expect_receipt(once->run([] { return std::string(); }), true); };
}

Work locked_write(const std::string& url, std::function<void(const std::string& name)> write) {
  const auto client = std::make_shared<Client>(url);
  const auto names = std::make_shared<NewNames>();
  return [client, names, write = std::move(write)] {
    const std::string name = names->next();
    Lock lock = client->make_lock(name);
    lock.lock();
    write(name);
    lock.unlock();
  };
}

double p50_of(int samples, const Work& work) {
  return p50(samples, [&] { return timed(1, work); }) / 1000;
}

std::string why_not_once(const std::string& url) {
  const bool remembers = Client(url).capabilities().once == Support::yes;
  return remembers ? "" : "its backend has no keys with a memory";
}

void add_once(Cases& cases, std::initializer_list<Mode> modes, const std::string& backend,
              const std::string& left_out, Case first, Case replay) {
  first.name = "once/" + backend + "_first_run";
  replay.name = "once/" + backend + "_replay";
  for (Case* const one : {&first, &replay}) {
    one->unit = "us";
    one->left_out = left_out;
    add(cases, modes, *one);
  }
}

}  // namespace mortise::bench
