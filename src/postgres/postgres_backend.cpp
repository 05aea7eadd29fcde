// SPDX-License-Identifier: MIT
#include "postgres/postgres_backend.hpp"

#include "base/farewell.hpp"
#include "base/mutant.hpp"
#include "core/figures.hpp"
#include "postgres/home.hpp"
#include "postgres/postgres_client.hpp"

#include <utility>

namespace mortise::postgres {

PostgresBackend::PostgresBackend(Settings settings) : settings_(std::move(settings)) {}

PostgresBackend::~PostgresBackend() = default;

// The reasons are in docs/stores/postgresql.md.
StoreDescription PostgresBackend::describe() const {
  const Support fair = settings_.fair ? Support::yes : Support::no;
  const Listener::Hearing hearing =
      client_ ? client_->listener.hearing() : Listener::hearing_by(settings_);
  const Support push = hearing == Listener::Hearing::unknown  ? Support::unknown
                       : hearing == Listener::Hearing::pooled ? Support::no
                                                              : Support::yes;
  return {.name = words(),
          .capabilities = {.leases = Support::yes,
                           .fencing = Support::yes,
                           .fair = fair,
                           .push_wakeup = push,
                           .one_wake = fair,
                           .survives_restart = Support::yes,
                           // Yes with synchronous replication. But the server does not report the
                           // purpose of its standbys.
                           .survives_failover = Support::unknown,
                           .shared_mode = Support::yes,
                           .permits = Support::yes,
                           .min_hold = Support::yes}};
}

std::string PostgresBackend::words() const { return "postgresql " + settings_.where(); }

std::string PostgresBackend::identity() const {
  const Whereabouts place = client_ ? client_->lineage.newest() : Whereabouts{};
  return Home{.place = place, .schema = settings_.schema}.text();
}

void PostgresBackend::start(Host& host) {
  client_ = std::make_unique<PostgresClient>(settings_, host);
}

const Parts& PostgresBackend::parts() const noexcept { return client_->parts; }

bool PostgresBackend::open(Operation& operation) {
  return client_->polling.begin(operation, [this] { return words(); });
}

void PostgresBackend::submit(Call::Kind kind, std::shared_ptr<Operation> operation) {
  if (!open(*operation)) return;
  client_->exchange.submit(Call::made(kind, std::move(operation), parts().now()));
}

void PostgresBackend::acquire(const std::shared_ptr<Acquisition>& operation) {
  if (!open(*operation)) return;
  const Acquisition::Request& request = operation->request();
  if ((request.mode == Mode::once && !request.memory) ||
      (request.mode == Mode::permit && request.permits == 0)) {
    operation->failed({Errc::unsupported, words() + ": mode"});
    return;
  }
  parts().ask(operation);
}

void PostgresBackend::cancel(const std::shared_ptr<Acquisition>& operation) {
  if (!open(*operation)) return;
  const AttemptId& attempt = operation->request().attempt;
  if (client_->attempts.may_ask_last(attempt) && !base::mutant("postgres.gives_way_to_the_end")) {
    // It was never asked for, to let others come first; and perhaps none of them wants it any more.
    return client_->exchange.ask(operation);
  }
  remote::cancel(client_->exchange, client_->attempts,
                 Call::made(Call::Kind::cancel, operation, parts().now()));
}

void PostgresBackend::renew(const std::shared_ptr<Renewal>& operation) {
  submit(Call::Kind::renew, operation);
}

void PostgresBackend::release(const std::shared_ptr<Release>& operation) {
  if (!open(*operation)) return;
  const auto& successor = operation->successor();
  const bool others_first = client_->yields.give_way(*operation);
  submit(operation->conclusion() ? Call::Kind::conclude : Call::Kind::release, operation);
  // A transaction of its own, right behind: a release is not worth a flush, a grant is.
  if (successor && !others_first && !successor->done()) parts().ask(successor);
}

void PostgresBackend::inspect(const std::shared_ptr<Inspection>& operation) {
  submit(Call::Kind::inspect, operation);
}

void PostgresBackend::recall(const std::shared_ptr<Recollection>& operation) {
  submit(Call::Kind::recall, operation);
}

void PostgresBackend::check(const std::shared_ptr<Check>& operation) {
  submit(Call::Kind::check, operation);
}

void PostgresBackend::list(const std::shared_ptr<Listing>& operation) {
  if (!open(*operation)) return;
  if (operation->cursor().size() > core::longest_name) {
    operation->failed({Errc::misconfigured,
                       words() + ": the cursor is invalid; pass the cursor of the previous page"});
    return;
  }
  submit(Call::Kind::list, operation);
}

void PostgresBackend::queue(const std::shared_ptr<QueueLook>& operation) {
  submit(Call::Kind::queue, operation);
}

void PostgresBackend::find(const std::shared_ptr<QueueLook>& operation) { queue(operation); }

void PostgresBackend::end(const std::shared_ptr<Release>& operation) {
  submit(Call::Kind::force, operation);
}

void PostgresBackend::stop() noexcept {
  if (!client_ || client_->polling.is_closed()) return;
  // If there is no memory for that, what is left ends with its lease.
  if (!base::mutant("postgres.close_leaves_the_outbox")) {
    base::without_memory([this] { client_->polling.give_back_the_rest(); });
  }
  if (client_->polling.close()) end_all();
}

void PostgresBackend::end_all() noexcept {
  remote::end_all(
      client_->exchange, client_->attempts, [this] { return words(); },
      [this](auto end) {
        client_->listener.close();
        end(client_->pool.close());
      });
}

}  // namespace mortise::postgres
