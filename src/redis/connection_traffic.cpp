// SPDX-License-Identifier: MIT
// The bytes of a connection: how they are read, by one thread at a time, and written, by all. Its
// life is in connection.cpp.
#include "redis/connection.hpp"

#include <exception>
#include <utility>

namespace mortise::redis {
namespace {

constexpr std::size_t read_size = std::size_t{16} << 10U;

// With so many replies on their way several callers are about to be answered at once.
constexpr std::size_t several = 16;
// How long a request waits at most for the others' while they keep coming. A send costs a few
// microseconds, and where it wakes a sleeping CPU a good many more.
constexpr std::chrono::microseconds gathered_for{25};

// A stream that finds no memory for the words is as good as broken.
remote::Stream::Moved write_to(remote::Stream& stream, std::span<const char> bytes) noexcept {
  try {
    return stream.write(bytes);
  } catch (const std::exception&) {
    return {remote::Stream::Status::failed};
  }
}

}  // namespace

bool Connection::linger() {
  if (!up() || blocked_.load()) return false;
  const Role role(reading_);
  if (!role) return false;
  if (unanswered_.load() == 0) return false;
  const bool came = receive(true);
  if (link_.state() == State::idle) let_go();
  return came;
}

bool Connection::receive(bool sleep) {
  std::vector<char>& buffer = read_buffer_;
  buffer.resize(read_size);
  bool any = false;
  // Nobody but this role ever replaces the stream.
  while (stream_) {
    Stream& stream = *stream_;
    const Stream::Moved moved = sleep && !any ? stream.read_soon(buffer) : stream.read(buffer);
    if (moved.status == Stream::Status::again) return any;
    any = true;
    if (moved.status != Stream::Status::done) {
      Failure why = stream.failure();
      why.text = where_ + ": " + why.text;
      if (tls_ == nullptr && !heard_) why.text += remote::perhaps_for_tls;
      if (link_.state() == State::greeting) {
        give_up_address(why, clock_->now());
      } else {
        drop(why);
      }
      return true;
    }
    heard_ = true;
    reader_->feed({buffer.data(), moved.bytes});
    if (!pushes() && unanswered_.load() >= several) gather();
    take_replies();
    // A socket that gave less than it was asked for is empty; asking again would cost a call.
    if (tls_ == nullptr && moved.bytes < buffer.size()) return true;
  }
  return any;
}

void Connection::take_replies() {
  try {
    while (reader_) {
      const ReplyReader::Next next = reader_->next(reply_);
      if (next == ReplyReader::Next::more) return;
      if (next == ReplyReader::Next::broken) {
        return drop({Errc::protocol, where_ + ": " + reader_->error()});
      }
      take(reply_);
    }
  } catch (const std::exception&) {
    if (link_.state() == State::idle) {
      answered_.clear();
      throw;  // it was dropped, and its user could not take that
    }
    // An answer was read, and nobody was told: a release would be asked for once more, and be found
    // done by nobody. Nothing that stands behind it may be read.
    {
      const std::lock_guard lock(mutex_);
      calls_.put_back(answered_);
      note_calls();
    }
    drop({Errc::exhausted, "no memory"});  // so short that it needs none
  }
}

void Connection::take(const Reply& reply) {
  if (link_.state() == State::greeting) {
    const Failure why = greeting_->read(where_, reply);
    if (why) {
      give_up_address(why, clock_->now());
    } else if (greeting_->done()) {
      user_.greeted(*this, greeting_->facts());
      if (link_.state() != State::greeting) return;  // it was refused
      greeting_.reset();
      race_.remember(endpoint());
      const Instant now = clock_->now();
      {
        const std::lock_guard lock(mutex_);
        round_trip_.begun(now);
      }
      link_.came_up(now);
      user_.connected(*this);
      link_.is_welcome();
    }
    return;
  }
  if (!inbox_.empty()) {
    user_.pushed(reply);
    if (!reply.is_error()) link_.made_sense();
    return;
  }
  take_answer(reply);
}

void Connection::take_answer(const Reply& reply) {
  {
    const std::lock_guard lock(mutex_);
    calls_.reuse(over_);
    answered_ = calls_.answered();
    if (!answered_.empty() && std::exchange(answered_.front().awaits_asking, false)) {
      return calls_.put_back(answered_);  // that of its ASKING
    }
    if (!answered_.empty()) {
      const Call& call = answered_.front();
      // No other call needs to know when a release was answered that was alone.
      const bool is_alone = calls_.empty() && call.kind == Call::Kind::release;
      const Instant now = is_alone ? Instant{} : clock_->now();
      if (!is_alone) round_trip_.answered(call.left, now);
      user_.matched(call, reply, now);
    }
    note_calls();
  }
  if (answered_.empty()) {
    return drop({Errc::protocol, where_ + ": the server sent a reply to no request"});
  }
  user_.answered(answered_.front(), reply);
  link_.made_sense();
  answered_.front() = Call{};  // whom it was for is let go here, under no mutex
  over_.splice(over_.begin(), answered_);
}

// Callers that are answered together ask again together, each in its own thread as soon as it has
// run: their requests are kept back, to leave in one system call and not in one each.
void Connection::gather() {
  const std::lock_guard lock(mutex_);
  gathering_since_ = clock_->now();
  gathering_.store(true);
}

void Connection::send_gathered() {
  gathering_.store(false);
  write_queued();
}

Connection::Sent Connection::send(Call& call, std::string_view bytes) {
  return queue(&call, bytes);
}

bool Connection::send(std::string_view bytes) { return queue(nullptr, bytes) == Sent::sent; }

Connection::Sent Connection::queue(Call* call, std::string_view bytes) {
  std::shared_ptr<Stream> stream;
  UnderWay::Place place;
  {
    const std::lock_guard lock(mutex_);
    if (!up() || !stream_) return Sent::refused;
    // Written for a connection that has broken since: the next one may not have its script.
    if (call != nullptr && call->generation != calls_.generation()) return Sent::refused;
    // Room first: what is admitted is noted as asked for, and has to be.
    out_.reserve(out_.size() + bytes.size());
    if (call != nullptr) calls_.make_room();
    if (call != nullptr && !user_.admits(*call)) return Sent::withdrawn;
    place = append(call, bytes);
    if (blocked_.load()) return Sent::sent;
    if (gathering_.load() && writing_.load() == nobody_writes) {
      const Instant now = clock_->now();
      if (now - gathering_since_ < gathered_for) return Sent::sent;
      gathering_since_ = now;
    }
    if (!begin_writing()) return Sent::sent;
    stream = stream_;
  }
  if (flush(std::move(stream))) return Sent::sent;
  // Not a byte has left: the server does not know of it, which is worth knowing. Where the
  // connection was dropped meanwhile, its user was told that the call is unanswered.
  const std::lock_guard lock(mutex_);
  UnderWay::Calls mine = calls_.take_back(place);
  note_calls();
  if (mine.empty()) return Sent::sent;
  *call = std::move(mine.front());
  return Sent::refused;
}

// Under the mutex, where there is room. Both or neither: a call without its bytes would be given
// the reply to the next one, and hold what another one holds (S1).
Connection::UnderWay::Place Connection::append(Call* call, std::string_view bytes) noexcept {
  out_.append(bytes);
  if (call == nullptr) return {};
  call->awaits_asking = call->asks_first;
  const bool whole = call->whole;
  const std::uint8_t script = call->script;
  // Not of when it was made: its thread may have stood still since, and whatever else is under way
  // would be in doubt with a call that the server has hardly seen. It is before it leaves, too:
  // under the mutex nobody writes what has just been queued.
  call->left = call->asked;
  if (call->asked == Instant{} || call->time.count() > 0) {
    const Instant now = clock_->now();
    if (call->asked == Instant{}) call->asked = now;
    if (call->since == Instant{}) call->since = call->asked;
    call->left = now;
    if (call->time.count() > 0) {
      call->deadline = now + round_trip_.time(call->time, call->longest);
    }
  }
  const UnderWay::Place place = calls_.add(std::move(*call));
  note_calls();
  if (whole) loaded_.sent(script, place.generation);
  return place;
}

// Under the mutex, as the next: for those who ask without it. Whoever changes them gives up that
// mutex before it does anything else that others could take for the news: a full barrier each, four
// times a cycle, would order nothing more.
void Connection::note_calls() noexcept {
  unanswered_.store(calls_.size(), std::memory_order_release);
  deadline_.put(deadline_locked());
}

Instant Connection::deadline_locked() const noexcept {
  if (calls_.empty()) return never;
  const Call& oldest = calls_.oldest();
  return round_trip_.dead_at(oldest.deadline, oldest.left);
}

// Takes what is queued, for the caller to write. @return false: somebody writes already, and will
// see that there is more
bool Connection::begin_writing() noexcept {
  unsigned before = nobody_writes;
  if (!writing_.compare_exchange_strong(before, somebody_writes)) {
    if ((writing_.fetch_or(more_came) & somebody_writes) != 0) return false;
    writing_.store(somebody_writes);  // who wrote has ended in between
  }
  batch_.swap(out_);
  return true;
}

void Connection::write_queued() {
  std::shared_ptr<Stream> stream;
  {
    const std::lock_guard lock(mutex_);
    if (out_.empty() || !stream_ || !begin_writing()) return;
    stream = stream_;
  }
  static_cast<void>(flush(std::move(stream)));
}

// Writes the batch, and whatever others have queued meanwhile: also on a connection that has come
// after this one, whose greeting waits for whoever writes.
bool Connection::flush(std::shared_ptr<Stream> stream) {
  bool mine = true;  // the caller's own bytes are in the first batch
  bool left = false;
  for (;;) {
    std::size_t done = 0;
    Stream::Status status = Stream::Status::done;
    while (done < batch_.size() && status == Stream::Status::done) {
      const Stream::Moved moved = write_to(*stream, {batch_.data() + done, batch_.size() - done});
      status = moved.status;
      if (status == Stream::Status::done) done += moved.bytes;
    }
    if (mine) left = done > 0 || status == Stream::Status::again;
    mine = false;
    unsigned alone = somebody_writes;
    if (status == Stream::Status::done) {
      batch_.clear();
      if (writing_.compare_exchange_strong(alone, nobody_writes)) return left;
    }
    std::unique_lock lock(mutex_);
    if (status != Stream::Status::done && stream_ == stream) {
      stop_writing(status, done);
      lock.unlock();
      // Whoever sleeps over it knows of neither: not that it has to write, nor that it is broken.
      if (!base::mutant("redlock.break_found_in_writing_is_not_told")) user_.changed(*this);
      return left;
    }
    batch_.clear();
    writing_.store(out_.empty() || !stream_ ? nobody_writes : somebody_writes);
    if (out_.empty() || !stream_) return left;
    batch_.swap(out_);
    stream = stream_;
  }
}

// Under the mutex. Whatever needs memory here may fail: who writes must not stay marked as writing,
// or nobody would ever write again, on the next connections neither.
void Connection::stop_writing(Stream::Status why, std::size_t done) noexcept {
  bool kept = why == Stream::Status::again;
  try {
    if (kept) out_.insert(0, batch_, done);
  } catch (const std::exception&) {
    kept = false;
  }
  batch_.clear();
  writing_.store(nobody_writes);
  if (kept) {
    blocked_.store(true);
    return;
  }
  break_locked([this] { return unavailable(remote::Link::words(remote::Link::End::broken)); });
}

}  // namespace mortise::redis
