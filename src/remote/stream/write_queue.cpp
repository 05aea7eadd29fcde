// SPDX-License-Identifier: MIT
#include "remote/stream/write_queue.hpp"

#include <chrono>
#include <exception>
#include <span>
#include <utility>

namespace mortise::remote {
namespace {

// The longest time that a request waits for requests of other callers while they keep coming. A
// send costs a few microseconds, and more if it wakes a sleeping CPU.
constexpr std::chrono::microseconds gathered_for{25};

// A stream that finds no memory for the words is as good as broken.
Stream::Moved write_to(Stream& stream, std::span<const char> bytes) noexcept {
  try {
    return stream.write(bytes);
  } catch (const std::exception&) {
    return {Stream::Status::failed};
  }
}

}  // namespace

std::shared_ptr<Stream> WriteQueue::open(std::shared_ptr<Stream> stream) noexcept {
  stream_.swap(stream);
  queued_.clear();
  is_blocked_.store(false);
  is_gathering_.store(false);
  return stream;
}

std::shared_ptr<Stream> WriteQueue::begin(Clock& clock) noexcept {
  if (is_blocked_.load()) return nullptr;
  if (is_gathering_.load() && writing_.load() == nobody_writes) {
    const Instant now = clock.now();
    if (now - gathering_since_ < gathered_for) return nullptr;
    gathering_since_ = now;
  }
  return begin_writing() ? stream_ : nullptr;
}

std::shared_ptr<Stream> WriteQueue::begin_rest() noexcept {
  const std::lock_guard lock(mutex_);
  if (queued_.empty() || !stream_ || !begin_writing()) return nullptr;
  return stream_;
}

// Takes what is queued, for the caller to write. @return false: another thread writes, and will see
// that there is more
bool WriteQueue::begin_writing() noexcept {
  unsigned before = nobody_writes;
  if (!writing_.compare_exchange_strong(before, somebody_writes)) {
    if ((writing_.fetch_or(more_came) & somebody_writes) != 0) return false;
    writing_.store(somebody_writes);  // the thread that wrote has ended in between
  }
  batch_.swap(queued_);
  return true;
}

WriteQueue::Written WriteQueue::write_batch(Stream& stream) const noexcept {
  Written written{};
  while (written.bytes < batch_.size() && written.status == Stream::Status::done) {
    const Stream::Moved moved =
        write_to(stream, {batch_.data() + written.bytes, batch_.size() - written.bytes});
    written.status = moved.status;
    if (moved.status == Stream::Status::done) written.bytes += moved.bytes;
  }
  return written;
}

// @return true if nothing has come behind it: no thread writes from now on
bool WriteQueue::end_batch() noexcept {
  batch_.clear();
  unsigned alone = somebody_writes;
  return writing_.compare_exchange_strong(alone, nobody_writes);
}

bool WriteQueue::begin_next_batch() noexcept {
  batch_.clear();
  const bool is_over = queued_.empty() || !stream_;
  writing_.store(is_over ? nobody_writes : somebody_writes);
  if (!is_over) batch_.swap(queued_);
  return !is_over;
}

// No thread is marked as writing after this call. Otherwise no thread would ever write again.
// @return false: the stream is broken
bool WriteQueue::keep_rest(const Written& written) noexcept {
  bool is_kept = written.status == Stream::Status::again;
  try {
    if (is_kept) queued_.insert(0, batch_, written.bytes);
  } catch (const std::exception&) {
    is_kept = false;
  }
  batch_.clear();
  writing_.store(nobody_writes);
  if (is_kept) is_blocked_.store(true);
  return is_kept;
}

void WriteQueue::gather(Instant now) {
  const std::lock_guard lock(mutex_);
  gathering_since_ = now;
  is_gathering_.store(true);
}

}  // namespace mortise::remote
