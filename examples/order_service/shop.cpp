// SPDX-License-Identifier: MIT
#include "shop.hpp"

#include <mortise/postgres.hpp>
#include <mortise/prometheus.hpp>

#include "database.hpp"

#include <httplib.h>
#include <prometheus/text_serializer.h>

#include <chrono>
#include <string_view>
#include <utility>

namespace shop {
namespace {

using namespace std::chrono_literals;

// The names of a copy that has died are free after 10 s.
constexpr std::chrono::seconds lease{10};
constexpr std::uint32_t labels_at_a_time = 3;

std::map<std::string, std::string> store(const char* name) { return {{"store", name}}; }

std::string group_of(std::string_view name) { return std::string(name.substr(0, name.find('/'))); }

mortise::ClientOptions counted(const std::shared_ptr<prometheus::Registry>& registry,
                               const char* name) {
  return {.give_up = 3s,
          .observer =
              mortise::prometheus::observer(registry, {.labels = store(name), .group = group_of})};
}

void require(const auto& held) {
  if (!held) throw Refused(503, held.error_text());
}

}  // namespace

Shop::Shop(Settings settings)
    : settings_(std::move(settings)),
      registry_(std::make_shared<prometheus::Registry>()),
      database_(settings_.database, counted(registry_, "postgresql")),
      redis_(settings_.redis, counted(registry_, "redis")),
      waits_(mortise::prometheus::waits_by_name(
          {{.snapshot = database_.snapshot_source(), .labels = store("postgresql")},
           {.snapshot = redis_.snapshot_source(), .labels = store("redis")}})) {}

mortise::AcquireOptions Shop::patience() const { return {.wait = 3s, .stop = stop_.get_token()}; }

std::string Shop::health() {
  database_.check();
  redis_.check();
  return "well";
}

std::string Shop::metrics() const {
  std::vector<prometheus::MetricFamily> all = registry_->Collect();
  for (prometheus::MetricFamily& waits : waits_->Collect()) all.push_back(std::move(waits));
  return prometheus::TextSerializer().Serialize(all);
}

std::string Shop::order(const std::string& key, const std::string& item, int quantity, int amount) {
  if (key.empty()) throw Refused(400, "an order needs an Idempotency-Key");
  const std::string what = item + "/" + std::to_string(quantity) + "/" + std::to_string(amount);
  mortise::Once once = database_.make_once(
      "order/" + key, {.fingerprint = what, .wait = 3s, .lease = lease, .stop = stop_.get_token()});
  const mortise::Outcome outcome = once.run([&](mortise::Run& run) {
    mortise::ReadWriteLock shelf =
        database_.make_read_write_lock("stock/" + item, {.lease = lease});
    const mortise::Guard writing(shelf.writer(), patience());
    require(writing);
    Transaction change(settings_.database);
    mortise::postgres::guard(change.connection(), writing);
    const Rows stock = change.run("SELECT quantity FROM stock WHERE item = $1", item);
    if (stock.empty()) throw Refused(404, "no such item");
    const int left = std::stoi(stock[0][0]) - quantity;
    std::string id = "sold out";
    if (left >= 0) {
      change.run("UPDATE stock SET quantity = $2 WHERE item = $1", item, left);
      id = change.run(
          "INSERT INTO orders (key, item, quantity, run) VALUES ($1, $2, $3, $4) "
          "RETURNING id",
          key, item, quantity, run.number())[0][0];
      change.run("INSERT INTO charges VALUES ($1, $2)", id, amount);
    }
    mortise::postgres::commit(change.connection(), run, id);  // the order and its outcome
  });
  if (!outcome) throw Refused(503, "not decided: ask again");
  if (outcome.result() == "sold out") throw Refused(409, outcome.result());
  return outcome.result();
}

std::string Shop::ship(const std::string& order) {
  const mortise::Guard mine(redis_, "orders/" + order, patience(), {.lease = lease});
  require(mine);
  const Rows state =
      Transaction(settings_.database).run("SELECT state FROM orders WHERE id = $1", order);
  if (state.empty()) throw Refused(404, "no such order");
  if (state[0][0] == "shipped") return "shipped before";
  get_label(order);
  // This copy may have been stopped for longer than its lease. The next holder has a larger token.
  Transaction change(settings_.database);
  const Rows shipped = change.run(
      "UPDATE orders SET state = 'shipped', fence = $2 WHERE id = $1 AND fence <= $2 AND "
      "state = 'charged' RETURNING id",
      order, mine.token());
  if (shipped.empty()) throw Refused(503, "another copy has this order: ask again");
  change.run("INSERT INTO shipments VALUES ($1, $2)", order, mine.token());
  change.commit();
  return "shipped";
}

void Shop::get_label(const std::string& order) {
  mortise::Semaphore printers =
      redis_.make_semaphore("partner", labels_at_a_time, {.lease = lease});
  const mortise::Permit permit = printers.acquire(patience());
  require(permit);
  httplib::Client partner("http://" + settings_.partner);
  partner.set_read_timeout(60s);
  const auto label = partner.Get("/label?order=" + order);
  if (!label || label->status != 200) throw Refused(503, "no label from the partner");
}

std::string Shop::stock(const std::string& item) {
  mortise::ReadWriteLock shelf = database_.make_read_write_lock("stock/" + item, {.lease = lease});
  const mortise::Guard reading(shelf.reader(), patience());
  require(reading);
  Transaction look(settings_.database);
  const Rows stock = look.run("SELECT quantity, initial FROM stock WHERE item = $1", item);
  if (stock.empty()) throw Refused(404, "no such item");
  const Rows sold = look.run("SELECT coalesce(sum(quantity), 0) FROM orders WHERE item = $1", item);
  // A lease that has ended lets writers in. It may have ended between the two.
  if (reading.valid_for() <= 0s) throw Refused(503, "stopped while it read: ask again");
  return stock[0][0] + " left, " + sold[0][0] + " sold of " + stock[0][1];
}

std::string Shop::transfer(const std::string& from, const std::string& to, int amount) {
  const mortise::Guards both = mortise::lock_all(database_, {"accounts/" + from, "accounts/" + to},
                                                 patience(), {.lease = lease});
  require(both);
  Transaction change(settings_.database);
  mortise::postgres::guard(change.connection(), both);
  const auto balance = [&](const std::string& account) {
    const Rows found = change.run("SELECT balance FROM accounts WHERE id = $1", account);
    if (found.empty()) throw Refused(404, "no account " + account);
    return std::stoi(found[0][0]);
  };
  const int before = balance(from);
  if (before < amount) throw Refused(409, "too little");
  change.run("UPDATE accounts SET balance = $2 WHERE id = $1", from, before - amount);
  change.run("UPDATE accounts SET balance = $2 WHERE id = $1", to, balance(to) + amount);
  change.run("INSERT INTO transfers VALUES ($1, $2, $3)", from, to, amount);
  change.commit();
  return "moved";
}

bool Shop::close_day(const std::string& day) {
  mortise::Once once =
      database_.make_once("close/" + day, {.keep = 48h, .wait = 0s, .lease = lease});
  const mortise::Outcome outcome = once.run([&](mortise::Run& run) {
    Transaction change(settings_.database);
    change.run("INSERT INTO closed_days SELECT $1, count(*) FROM orders", day);
    mortise::postgres::commit(change.connection(), run);
  });
  return outcome && !outcome.replayed();
}

}  // namespace shop
