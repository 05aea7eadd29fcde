// SPDX-License-Identifier: MIT
#include "kit/kit_backend.hpp"

#include "base/farewell.hpp"

#include <utility>

namespace mortise::kit {

KitBackend::KitBackend(Destination destination, std::unique_ptr<const remote::Protocol> protocol)
    : protocol_(std::move(protocol)), destination_(std::move(destination)) {
  destination_.where = protocol_->kind() + " " + destination_.address.text();
}

StoreDescription KitBackend::describe() const {
  StoreDescription about{.name = destination_.where, .capabilities = protocol_->capabilities()};
  about.capabilities.shared_mode = about.capabilities.permits = Support::no;
  return about;
}

void KitBackend::start(Host& host) {
  client_ = std::make_unique<KitClient>(destination_, *protocol_, host);
}

bool KitBackend::open(Operation& operation) {
  return client_->begin(operation, [this] { return destination_.where; });
}

void KitBackend::acquire(const std::shared_ptr<Acquisition>& operation) {
  if (!open(*operation)) return;
  if (operation->request().mode != Mode::exclusive) {
    return operation->failed({Errc::unsupported, destination_.where + ": mode"});
  }
  client_->exchange().ask(operation);
}

void KitBackend::cancel(const std::shared_ptr<Acquisition>& operation) {
  if (!open(*operation)) return;
  remote::cancel(client_->exchange(), client_->attempts(),
                 Call::of(remote::Purpose::cancel, operation));
}

void KitBackend::renew(const std::shared_ptr<Renewal>& operation) {
  if (open(*operation)) client_->exchange().submit(Call::of(remote::Purpose::renew, operation));
}

void KitBackend::release(const std::shared_ptr<Release>& operation) {
  if (!open(*operation)) return;
  client_->exchange().submit(Call::of(remote::Purpose::release, operation));
  // Right behind: the server has handed the name over to the present waiters by then.
  const std::shared_ptr<Acquisition>& successor = operation->successor();
  if (successor && !successor->done()) client_->exchange().ask(successor);
}

void KitBackend::inspect(const std::shared_ptr<Inspection>& operation) {
  if (open(*operation)) client_->exchange().submit(Call::of(remote::Purpose::question, operation));
}

void KitBackend::check(const std::shared_ptr<Check>& operation) {
  if (!open(*operation)) return;
  Call call = Call::of(remote::Purpose::question, operation);
  call.is_check = true;
  client_->exchange().submit(std::move(call));
}

void KitBackend::stop() noexcept {
  if (!client_ || client_->is_closed()) return;
  // Without memory for that, what is left ends with its lease.
  base::without_memory([this] { client_->give_back_the_rest(); });
  if (client_->close()) client_->end();
}

}  // namespace mortise::kit
