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

}  // namespace

Refused refusal_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Refused& refused) {
    return refused;
  } catch (const mortise::Error& failed) {
    int status = 503;
    if (failed.code() == mortise::Errc::mismatch) status = 422;
    if (failed.code() == mortise::Errc::misconfigured) status = 400;  // a name is too long
    return {status, failed.what()};
  } catch (const std::logic_error&) {
    return {400, "a parameter is not a positive number"};
  } catch (const std::exception& failed) {
    return {503, failed.what()};
  }
}

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

std::string Shop::order(const Order& order) {
  const mortise::Outcome outcome = key_of(order).run([&](mortise::Run& run) {
    const mortise::Guard writing(shelf_of(order.item).writer(), patience());
    require(writing);
    sell(order, run, writing);
  });
  return answer_of(outcome);
}

mortise::Once Shop::key_of(const Order& order) {
  if (order.key.empty()) throw Refused(400, "an order needs an Idempotency-Key");
  const std::string what =
      order.item + "/" + std::to_string(order.quantity) + "/" + std::to_string(order.amount);
  return database_.make_once(
      "order/" + order.key,
      {.fingerprint = what, .wait = 3s, .lease = lease, .stop = stop_.get_token()});
}

mortise::ReadWriteLock Shop::shelf_of(const std::string& item) {
  return database_.make_read_write_lock("stock/" + item, {.lease = lease});
}

void Shop::sell(const Order& order, mortise::Run& run, const mortise::Guard& writing) {
  Transaction change(settings_.database);
  mortise::postgres::guard(change.connection(), writing);
  const Rows stock = change.run("SELECT quantity FROM stock WHERE item = $1", order.item);
  if (stock.empty()) throw Refused(404, "no such item");
  const int left = std::stoi(stock[0][0]) - order.quantity;
  std::string id = "sold out";
  if (left >= 0) {
    change.run("UPDATE stock SET quantity = $2 WHERE item = $1", order.item, left);
    id = change.run(
        "INSERT INTO orders (key, item, quantity, run) VALUES ($1, $2, $3, $4) RETURNING id",
        order.key, order.item, order.quantity, run.number())[0][0];
    change.run("INSERT INTO charges VALUES ($1, $2)", id, order.amount);
  }
  mortise::postgres::commit(change.connection(), run, id);
}

std::string Shop::answer_of(const mortise::Outcome& outcome) {
  if (!outcome) throw Refused(503, "not decided: ask again");
  if (outcome.result() == "sold out") throw Refused(409, outcome.result());
  return outcome.result();
}

std::string Shop::ship(const std::string& order) {
  const mortise::Guard mine(lock_of(order), patience());
  require(mine);
  if (is_shipped(order)) return "shipped before";
  get_label(order);
  note_shipment(order, mine.token());
  return "shipped";
}

mortise::Lock Shop::lock_of(const std::string& order) {
  return redis_.make_lock("orders/" + order, {.lease = lease});
}

bool Shop::is_shipped(const std::string& order) {
  const Rows state =
      Transaction(settings_.database).run("SELECT state FROM orders WHERE id = $1", order);
  if (state.empty()) throw Refused(404, "no such order");
  return state[0][0] == "shipped";
}

// This copy may have been stopped for longer than its lease. The next holder has a larger token.
void Shop::note_shipment(const std::string& order, mortise::Token token) {
  Transaction change(settings_.database);
  const Rows shipped = change.run(
      "UPDATE orders SET state = 'shipped', fence = $2 WHERE id = $1 AND fence <= $2 AND "
      "state = 'charged' RETURNING id",
      order, token);
  if (shipped.empty()) throw Refused(503, "another copy has this order: ask again");
  change.run("INSERT INTO shipments VALUES ($1, $2)", order, token);
  change.commit();
}

mortise::Semaphore Shop::printers() {
  return redis_.make_semaphore("partner", labels_at_a_time, {.lease = lease});
}

void Shop::get_label(const std::string& order) {
  const mortise::Permit permit = printers().acquire(patience());
  require(permit);
  httplib::Client partner("http://" + settings_.partner);
  partner.set_read_timeout(60s);
  const auto label = partner.Get("/label?order=" + order);
  if (!label || label->status != 200) throw Refused(503, "no label from the partner");
}

std::string Shop::stock(const std::string& item) {
  const mortise::Guard reading(shelf_of(item).reader(), patience());
  require(reading);
  return count(item, reading);
}

std::string Shop::count(const std::string& item, const mortise::Guard& reading) {
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
