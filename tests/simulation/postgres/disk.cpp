// SPDX-License-Identifier: MIT
#include "simulation/postgres/disk.hpp"

#include <algorithm>
#include <utility>

namespace simulation::postgres {

void LogRecord::add(const LockRow& row, bool gone) {
  gone ? locks_gone.push_back(row.name) : locks.push_back(row);
}

void LogRecord::add(const TicketRow& row, bool gone) {
  gone ? tickets_gone.push_back({row.name, row.ticket}) : tickets.push_back(row);
}

void LogRecord::add(const KeyRow& row, bool gone) {
  gone ? keys_gone.push_back(row.name) : keys.push_back(row);
}

void Image::apply(const LogRecord& record) {
  for (const LockRow& each : record.locks) locks.insert_or_assign(each.name, each);
  for (const std::string& each : record.locks_gone) locks.erase(each);
  for (const TicketRow& each : record.tickets) {
    tickets.insert_or_assign({each.name, each.ticket}, each);
  }
  for (const auto& each : record.tickets_gone) tickets.erase(each);
  for (const KeyRow& each : record.keys) keys.insert_or_assign(each.name, each);
  for (const std::string& each : record.keys_gone) keys.erase(each);
  last_ticket = std::max(last_ticket, record.last_ticket);
}

Place Disk::append(LogRecord record) {
  log_.push_back(std::move(record));
  return ++end_;
}

void Disk::want(Place place) {
  if (!on_disk(place)) flush();
}

void Disk::want_later() {
  if (later_ || flushing_) return;
  later_ = true;
  site_.after(options_.wal_writer_delay, [this] {
    later_ = false;
    if (flushed_ < end_) flush();
  });
}

Nanos Disk::usual_time() {
  const auto usual = static_cast<std::uint64_t>(options_.flush.count());
  return Nanos(usual / 2 + (usual > 0 ? site_.random() % usual : 0));
}

void Disk::flush() {
  if (flushing_) return;
  flushing_ = true;
  flushing_to_ = end_;
  stalled_ = stall_.count() > 0;
  flush_until(usual_time() + std::exchange(stall_, Nanos(0)));
}

void Disk::flush_until(Nanos time) {
  site_.after(time, [this, id = ++flush_id_] {
    if (id == flush_id_) flushed();
  });
}

void Disk::flushed() {
  flushing_ = stalled_ = false;
  ++flushes_;
  while (flushed_ < flushing_to_) disk_.apply(log_[flushed_++ - kept_]);
  ship();
  forget_old();
  if (flushed_ < end_) flush();
  wake_all();
}

void Disk::end_stall() {
  stall_ = {};
  if (std::exchange(stalled_, false)) flush_until(usual_time());
}

void Disk::ship() {
  if (!has_standby_ || shipping_ || standby_gone_ || shipped_ == flushed_) return;
  shipping_ = true;
  site_.after(options_.standby_delay, [this, to = flushed_] {
    shipping_ = false;
    if (standby_gone_) return;
    while (shipped_ < to) standby_.apply(log_[shipped_++ - kept_]);
    ship();
    forget_old();
    wake_all();
  });
}

void Disk::set_standby_gone(bool gone) {
  standby_gone_ = gone;
  if (!gone) ship();
}

void Disk::stand_alone() {
  has_standby_ = false;
  forget_old();
  wake_all();
}

void Disk::forget_old() {
  const Place done = has_standby_ ? std::min(flushed_, shipped_) : flushed_;
  for (; kept_ < done; ++kept_) log_.pop_front();
}

// Each looks again whether it is its turn.
void Disk::wake_all() {
  std::deque<std::uint64_t> waiters;
  waiters.swap(waiters_);
  for (const std::uint64_t each : waiters) scheduler_.wake_id(each, Wake::come);
  scheduler_.run();
}

Image Disk::after_crash() {
  // The log reaches the disk from its beginning on; how far is luck.
  const Place left = end_ - flushed_;
  const Place to =
      flushed_ + (left > 0 && site_.random() % 2 == 0 ? site_.random() % (left + 1) : 0);
  while (flushed_ < to) disk_.apply(log_[flushed_++ - kept_]);
  return disk_;
}

void Disk::start(const Image& from) {
  // Places go on; what a standby lacks of a log that is lost it has now.
  log_.clear();
  kept_ = flushed_ = shipped_ = end_;
  flushing_ = stalled_ = later_ = shipping_ = false;
  ++flush_id_;
  waiters_.clear();
  disk_ = from;
  standby_ = from;
}

}  // namespace simulation::postgres
