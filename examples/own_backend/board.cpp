// SPDX-License-Identifier: MIT
#include "board.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace own {

using mortise::Acquisition;
using mortise::Support;

void Board::News::report() const {
  if (!granted.request) return;
  mortise::Grant grant;
  grant.number = number;
  grant.counted_from = granted.client->clock()->now();
  granted.request->granted(grant);  // no lease: the hold lasts until its release
}

bool Board::is_of(const Name& name, const mortise::AttemptId& attempt) {
  return name.holder && name.holder->request->request().attempt == attempt;
}

std::optional<mortise::Holder> Board::holder_of(const Name& name) {
  if (!name.holder) return std::nullopt;
  mortise::Holder holder;
  holder.label = name.holder->request->request().label;
  holder.token = mortise::token_of(name.number);
  holder.waiters = name.queue.size();
  return holder;
}

Board::News Board::grant(Name& name, const Entry& entry) {
  name.holder = entry;
  return {entry, ++name.number};
}

Board::News Board::free(Name& name) {
  name.holder.reset();
  if (name.queue.empty()) return {};
  const Entry next = std::move(name.queue.front());
  name.queue.pop_front();
  return grant(name, next);
}

void Board::acquire(const Entry& entry) {
  const Acquisition::Request& request = entry.request->request();
  std::optional<mortise::Holder> busy;
  News news;
  {
    const std::scoped_lock lock(mutex_);
    Name& name = names_[request.name];
    if (is_of(name, request.attempt)) {
      news = {entry, name.number};  // a repeated request gets the same reply
    } else if (!name.holder) {
      news = grant(name, entry);
    } else {
      busy = holder_of(name);
      const bool waits = std::any_of(name.queue.begin(), name.queue.end(), [&](const Entry& each) {
        return each.request == entry.request;
      });
      if (request.wait && !waits) name.queue.push_back(entry);
      // Under the mutex, so that the grant cannot come first.
      if (request.wait) entry.request->queued(busy);
    }
  }
  news.report();
  if (busy && !request.wait) entry.request->busy(busy);
}

void Board::cancel(const Entry& entry) {
  std::optional<mortise::Holder> busy;
  News late;
  {
    const std::scoped_lock lock(mutex_);
    Name& name = names_[entry.request->request().name];
    if (is_of(name, entry.request->request().attempt)) late = {entry, name.number};
    std::erase_if(name.queue, [&](const Entry& each) { return each.request == entry.request; });
    busy = holder_of(name);
  }
  late.report();
  entry.request->busy(busy);  // a second completion is ignored
}

mortise::Released Board::release(const mortise::HoldId& hold) {
  News news;
  {
    const std::scoped_lock lock(mutex_);
    Name& name = names_[hold.name];
    if (!is_of(name, hold.attempt) || name.number != hold.number) {
      return mortise::Released::was_lost;
    }
    news = free(name);
  }
  news.report();
  return mortise::Released::released;
}

bool Board::stands(const mortise::HoldId& hold) {
  const std::scoped_lock lock(mutex_);
  const Name& name = names_[hold.name];
  return is_of(name, hold.attempt) && name.number == hold.number;
}

void Board::leave(const mortise::Host* client) {
  std::vector<News> news;
  std::vector<Entry> closed;
  {
    const std::scoped_lock lock(mutex_);
    for (auto& [text, name] : names_) {
      std::erase_if(name.queue, [&](const Entry& each) {
        if (each.client == client) closed.push_back(each);
        return each.client == client;
      });
      if (name.holder && name.holder->client == client) news.push_back(free(name));
    }
  }
  for (const News& each : news) each.report();
  for (const Entry& each : closed) each.request->failed({mortise::Errc::closed, "board"});
}

void Board::wipe(const std::string& text) {
  mortise::HoldId hold;
  mortise::Host* client = nullptr;
  News news;
  {
    const std::scoped_lock lock(mutex_);
    Name& name = names_[text];
    if (!name.holder) return;
    client = name.holder->client;
    hold = {text, name.holder->request->request().attempt, name.number};
    news = free(name);
  }
  client->hold_lost(hold, {mortise::Errc::lost, text + ": wiped off the board"});
  news.report();
}

mortise::StoreDescription BoardBackend::describe() const {
  return {.name = "board",
          .capabilities = {.leases = Support::no,
                           .fencing = Support::yes,
                           .fair = Support::yes,
                           .push_wakeup = Support::yes,
                           .one_wake = Support::yes,
                           .survives_restart = Support::no,
                           .survives_failover = Support::no}};
}

void BoardBackend::acquire(const std::shared_ptr<Acquisition>& operation) {
  operation->sent(host_->clock()->now());
  board_->acquire({host_, operation});
}

void BoardBackend::cancel(const std::shared_ptr<Acquisition>& operation) {
  board_->cancel({host_, operation});
}

void BoardBackend::renew(const std::shared_ptr<mortise::Renewal>& operation) {
  for (mortise::Renewal::Item& item : operation->items()) {
    item.counted_from = host_->clock()->now();
    item.granted = mortise::no_lease;
    item.answer = board_->stands(item.hold) ? mortise::Renewal::Answer::renewed
                                            : mortise::Renewal::Answer::lost;
  }
  operation->answered();
}

void BoardBackend::release(const std::shared_ptr<mortise::Release>& operation) {
  operation->answered(board_->release(operation->hold()));
  // The successor queues after the present waiters, or gets the name at once.
  if (const auto& successor = operation->successor()) acquire(successor);
}

}  // namespace own
