// SPDX-License-Identifier: MIT
// One PostgreSQL server, now and then with a standby that its commits wait for.
#include <mortise/postgres.hpp>

#include "simulation/postgres/postgres_server.hpp"
#include "simulation/scene/stands.hpp"

#include <memory>

namespace simulation {
namespace {

constexpr const char* some_name = "name/0";

class PostgresStand final : public Stand {
 public:
  PostgresStand(const Plan& plan, Room& room, std::string_view mistake) : room_(room) {
    Random random = Random::of({plan.seed, 42});
    Host& host = room.network.host("postgres");
    postgres::Options options;
    synchronous_ = random.chance(0.3);
    if (synchronous_) options.standby = postgres::Standby::synchronous;
    fair_ = random.chance(0.3);
    options.flush = random.spread(std::chrono::microseconds(50), std::chrono::milliseconds(2));
    server_ = std::make_unique<postgres::PostgresModel>(host, options);
    server_->make_mistake(mistake);
    host.serve(*server_);
  }
  [[nodiscard]] std::unique_ptr<mortise::Backend> backend(std::size_t /*client*/) override {
    return mortise::postgres::backend(
        std::string("postgresql://shop@10.0.0.1:5432/orders?sslmode=disable") +
        (fair_ ? "&mortise.fair=yes" : ""));
  }
  std::string special(std::uint64_t which, Random& random, Nanos length) override {
    switch (which) {
      case 0: server_->stall_disk(length); return "the disk stalls";
      case 1:
        server_->strangers_notify(1 + random.below(16), length);
        return "sessions of another database notify";
      case 2: return server_->cancel_one() ? "a statement is cancelled" : "nothing to cancel";
      case 3: return server_->terminate_one() ? "a session is ended" : "no session to end";
      case 4: server_->terminate_all(); return "all sessions are ended";
      case 5: server_->lock_row(some_name, length); return "a stranger has locked the row";
      default:
        if (!synchronous_) return "there is no standby";
        server_->set_standby_gone(true);
        room_.world.after(length, [this] { server_->set_standby_gone(false); });
        return "the standby is gone";
    }
  }
  void calm() override { server_->set_standby_gone(false); }
  // A release tells who waits, and the first to come has it: who meets a locked row asks again
  // soon.
  [[nodiscard]] Nanos hand_over() const override { return std::chrono::milliseconds(1'200); }
  [[nodiscard]] std::uint64_t work() const override { return server_->statements(); }
  // What clients send: sessions of another database work here, too.
  [[nodiscard]] std::uint64_t requests() const override {
    return room_.network.hosts().front()->requests;
  }
  [[nodiscard]] std::string complaint(std::size_t clients) override {
    // `mortise.connections` for statements, one that listens, and one that is being replaced.
    const std::size_t most = clients * 10;
    const std::size_t now = server_->backends();
    return now <= most ? std::string()
                       : std::to_string(now) + " server processes for " + std::to_string(clients) +
                             " clients";
  }
  [[nodiscard]] std::string leftovers(const std::vector<std::string>& /*names*/) override {
    if (server_->ticket_count() > 0) return std::to_string(server_->ticket_count()) + " tickets";
    if (server_->grave_count() > 0) {
      return std::to_string(server_->grave_count()) + " attempts that are refused";
    }
    return {};
  }

 private:
  Room& room_;
  bool synchronous_ = false;
  bool fair_ = false;
  std::unique_ptr<postgres::PostgresModel> server_;
};

}  // namespace

std::unique_ptr<Stand> make_postgres_stand(const Plan& plan, Room& room, std::string_view mistake) {
  return std::make_unique<PostgresStand>(plan, room, mistake);
}

}  // namespace simulation
