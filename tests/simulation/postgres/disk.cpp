// SPDX-License-Identifier: MIT
#include "simulation/postgres/disk.hpp"

#include <algorithm>

namespace simulation::postgres {

void Image::apply(const LogRecord& record) {
  for (const LockRow& each : record.locks) locks.insert_or_assign(each.name, each);
  for (const std::string& each : record.locks_gone) locks.erase(each);
  for (const TicketRow& each : record.tickets) {
    tickets.insert_or_assign({each.name, each.ticket}, each);
  }
  for (const auto& each : record.tickets_gone) tickets.erase(each);
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

void Disk::flush() {
  if (flushing_) return;
  flushing_ = true;
  const auto usual = static_cast<std::uint64_t>(options_.flush.count());
  const Nanos time = stall_ + Nanos(usual / 2 + (usual > 0 ? site_.random() % usual : 0));
  stall_ = {};
  site_.after(time, [this, to = end_] {
    flushing_ = false;
    ++flushes_;
    while (flushed_ < to) disk_.apply(log_[flushed_++ - kept_]);
    ship();
    forget_old();
    if (flushed_ < end_) flush();
    wake_all();
  });
}

void Disk::ship() {
  if (options_.standby == Standby::none || shipping_ || standby_gone_ || shipped_ == flushed_) {
    return;
  }
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

void Disk::forget_old() {
  const Place done = options_.standby == Standby::none ? flushed_ : std::min(flushed_, shipped_);
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

Image Disk::after_failover() { return standby_; }

void Disk::start(const Image& from) {
  // Places go on; what a standby lacks of a log that is lost it has now.
  log_.clear();
  kept_ = flushed_ = shipped_ = end_;
  flushing_ = later_ = shipping_ = false;
  waiters_.clear();
  disk_ = from;
  standby_ = from;
}

}  // namespace simulation::postgres
