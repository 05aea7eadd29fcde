// SPDX-License-Identifier: MIT
// One connection to the server, again and again: resolve, connect, encrypt, greet, then commands
// and replies in order, until it breaks. It knows nothing of locks.
#pragma once

#include <mortise/backend.hpp>

#include "base/farewell.hpp"
#include "base/resolver.hpp"
#include "base/tuned_source.hpp"
#include "redis/call.hpp"
#include "redis/greeting.hpp"
#include "redis/loaded_scripts.hpp"
#include "redis/master_search.hpp"
#include "redis/reply.hpp"
#include "redis/settings.hpp"
#include "remote/dialer.hpp"
#include "remote/link.hpp"
#include "remote/round_trip.hpp"
#include "remote/stream/stream_race.hpp"
#include "remote/timer.hpp"
#include "remote/under_way.hpp"

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace mortise::redis {

/// A connection connects when it is wanted, and once more after it broke, until it is let go.
///
/// Any thread sends: it writes what others have queued together with its own. One thread at a time,
/// whoever has the reader's role, is inside `ready()`, and only there the connection changes its
/// state and its user is called. Where that throws, for want of memory, what it was told counts as
/// not told: the connection is dropped, and the call whose answer it was is not answered.
///
/// A command costs one look at the mutex when it is sent, and one when it is answered; who polls
/// costs none.
/// @thread_safety every member may be called concurrently; the user is called under no mutex, but
/// for `admits()` and `matched()`.
class Connection final : public base::TunedSource {
 public:
  /// Whom it tells.
  class User {
   public:
    virtual ~User() = default;
    /// The server is acceptable by itself; nothing but the greeting was sent. May drop it.
    virtual void greeted(Connection& connection, const ServerFacts& facts) = 0;
    /// Calls can be sent.
    virtual void connected(Connection& connection) = 0;
    /// The reply to the oldest call.
    virtual void answered(const Call& call, const Reply& reply) = 0;
    /// Asked under the connection's mutex right before a call takes its place among the others:
    /// what is not wanted any more must not come behind what ended it. Must call nothing of the
    /// connection.
    /// @return false: it was withdrawn
    [[nodiscard]] virtual bool admits(const Call& call) = 0;
    /// The same reply as `answered()` is told of next, under the same mutex, as its call leaves
    /// those that are under way: so that no moment lies between that and what is noted of it.
    /// @param now when the reply was read; unset for a release that was alone
    virtual void matched(const Call& /*call*/, const Reply& /*reply*/, Instant /*now*/) {}
    /// `due()` or `interest()` is another one: to be told to the host, in the name of whatever the
    /// user has attached to it for this connection. Any thread, under no mutex of the connection.
    virtual void changed(Connection& connection) = 0;
    /// Something that nobody asked for (an inbox).
    virtual void pushed(const Reply& message) = 0;
    /// It broke, or could not be made. What was not answered may or may not have been executed.
    virtual void dropped(Connection& connection, const Failure& why, bool was_up,
                         std::list<Call> unanswered) = 0;
  };
  /// @param inbox the channel to subscribe to; empty = a connection for commands
  /// @param settings, tls, user, mutex outlive it; tls may be null
  /// @param mutex what its user notes under it is guarded by it, too; null = one of its own
  /// @param generations see UnderWay
  /// @param sentinels who is asked for the server, where no address is given; they outlive it
  Connection(Host& host, const Settings& settings, const remote::Tls* tls, std::string inbox,
             User& user, std::mutex* mutex = nullptr,
             std::atomic<std::uint64_t>* generations = nullptr, Sentinels* sentinels = nullptr);
  ~Connection() override;

  /// Has it connect, and stay so. @param now true: without waiting for the back-off to pass
  void want(bool now = false);
  /// The same, to exactly this endpoint.
  /// @param host whom a certificate has to be for; empty: as the settings say
  void want_at(const base::Endpoint& endpoint, bool now, const std::string& host = {});
  /// Drops it, and connects no more until it is wanted again. Only from inside its user.
  void drop(const Failure& why);
  /// Has it looked at soon, although nobody awaits a reply: it may be broken.
  void suspect();
  /// Drops it from any thread: soon, in the reader's role.
  void mark_broken(const Failure& why) noexcept;
  /// The same, also of one that is still being made.
  void abandon(const Failure& why) noexcept;
  /// For ever; call after the source was detached. @return what was not answered.
  std::list<Call> close() noexcept;

  /// @return the number of the connection that there is, or that will be next; grows.
  [[nodiscard]] std::uint64_t generation() const noexcept { return calls_.generation(); }
  /// What became of a command. Refused: not connected, or by another connection meanwhile; as where
  /// it is withdrawn, nothing was done.
  enum class Sent { sent, withdrawn, refused };
  /// Sends one command whose reply will come to `answered()`, unless it is withdrawn.
  /// @param call its `generation` is the `generation()` that the bytes were written for. It is told
  /// when it left, unless it knows, and where it is sent it goes on with the connection: its
  /// operation is not in here any more, and may be over
  [[nodiscard]] Sent send(Call& call, std::string_view bytes);
  /// Sends what is answered by pushes only.
  [[nodiscard]] bool send(std::string_view bytes);
  /// @return true if a further call may leave now; false = so many are not answered that it would
  /// only wait at the server, and the time of a call begins when it leaves.
  [[nodiscard]] bool has_room() const noexcept { return unanswered_.load() < most_under_way; }
  static constexpr std::size_t most_under_way = 512;
  /// @return which scripts went whole by it.
  [[nodiscard]] LoadedScripts& loaded() noexcept { return loaded_; }
  [[nodiscard]] bool up() const noexcept { return link_.is_up(); }
  /// @return whether it is there, or somebody wants it to be.
  [[nodiscard]] bool is_wanted() const noexcept { return link_.is_wanted(); }
  /// @return where it is connected to, or was last.
  [[nodiscard]] base::Endpoint endpoint() const;
  /// @return the name or number of that server.
  [[nodiscard]] std::string host() const;
  /// @return the server, for messages.
  [[nodiscard]] const std::string& where() const noexcept { return where_; }

  // Source
  [[nodiscard]] int descriptor() const noexcept override { return descriptor_.load(); }
  [[nodiscard]] short interest() const noexcept override {
    const bool plain = tls_ == nullptr && link_.state() == State::up;
    if (!plain) return interest_of_stream();
    return static_cast<short>(POLLIN | (blocked_.load() ? POLLOUT : 0));
  }
  [[nodiscard]] Instant due() const noexcept override {
    const Instant due = link_.due([this] { return deadline_.get(); });
    return link_.is_under_way() ? std::min(due, step_due_.get()) : due;
  }
  [[nodiscard]] bool pushes() const noexcept override { return !inbox_.empty(); }
  [[nodiscard]] bool outstanding() const noexcept override {
    return link_.is_outstanding(unanswered_.load() > 0);
  }
  /// @return whether a call of that kind is not answered.
  template <class Which>
  [[nodiscard]] bool awaits(Which which) const {
    const std::lock_guard lock(mutex_);
    return calls_.any(which);
  }
  /// @return whether the server takes no more for now, so that a part of what was sent is still
  /// here.
  [[nodiscard]] bool blocked() const noexcept { return blocked_.load(); }
  [[nodiscard]] bool linger() override;
  void ready(short events, Instant now) override;
  void gather() override;
  [[nodiscard]] bool gathering() const noexcept override { return gathering_.load(); }
  void send_gathered() override;

 private:
  using State = remote::Link::State;
  using UnderWay = remote::UnderWay<Call>;
  using Stream = remote::Stream;

  /// The reader's role: whoever has it is inside `ready()` or `linger()`. Nobody waits for it.
  class Role {
   public:
    explicit Role(std::atomic<bool>& taken) noexcept
        : taken_(taken), mine_(!taken.exchange(true, std::memory_order_acquire)) {}
    Role(const Role&) = delete;
    Role& operator=(const Role&) = delete;
    ~Role() {
      if (mine_) taken_.store(false, std::memory_order_release);
    }
    explicit operator bool() const noexcept { return mine_; }

   private:
    std::atomic<bool>& taken_;
    const bool mine_;
  };

  [[nodiscard]] short interest_of_stream() const noexcept;
  void read_and_advance(Instant now);
  void let_go() noexcept;
  void begin(Instant now);
  void search(Instant now);
  void resolve();
  void end_search(bool was_up) noexcept;
  void resolved();
  void dialed();
  void race(std::vector<base::Endpoint> endpoints);
  void show_race() noexcept;
  void advance(Instant now);
  void follow(std::shared_ptr<Stream> stream);
  void give_up_address(const Failure& why, Instant now);
  void greet();
  /// @return whether something came
  bool receive(bool sleep);
  void take_replies();
  void take(const Reply& reply);
  void take_answer(const Reply& reply);
  void check_time(Instant now);
  /// @return false: it broke before a byte has left
  bool flush(std::shared_ptr<Stream> stream);
  void stop_writing(Stream::Status why, std::size_t done) noexcept;
  template <class Why>
  void break_locked(Why why) noexcept;
  void write_queued();
  Sent queue(Call* call, std::string_view bytes);
  UnderWay::Place append(Call* call, std::string_view bytes) noexcept;
  void note_calls() noexcept;
  [[nodiscard]] Instant deadline_locked() const noexcept;
  [[nodiscard]] bool begin_writing() noexcept;
  [[nodiscard]] const char* words_of(remote::Link::End end) const noexcept;
  [[nodiscard]] Failure unavailable(const char* words) const;

  const Settings& settings_;
  const remote::Tls* const tls_;
  const std::string inbox_;
  const std::string where_;
  User& user_;
  const std::shared_ptr<Clock> clock_;

  std::atomic<bool> reading_{false};  // somebody has the reader's role, of which is what follows
  Sentinels* const sentinels_;
  std::optional<MasterSearch> search_;
  bool searching_ = false;
  base::Address address_;  // of the server that is connected to, or looked up
  base::Resolver resolver_;
  std::optional<remote::Dialer> dialer_;  // where connections are the user's
  remote::StreamRace race_;
  std::optional<Greeting> greeting_;
  std::optional<ReplyReader> reader_;
  bool heard_ = false;  // the server has said anything
  std::vector<char> read_buffer_;
  Reply reply_;
  UnderWay::Calls answered_;  // the call whose answer is being told
  UnderWay::Calls over_;      // ... that was told, and is empty

  remote::Link link_;
  std::atomic<bool> blocked_{false};  // the socket takes no more bytes: poll for POLLOUT
  std::atomic<int> descriptor_{-1};
  // Of a search, a lookup, or a race; set in the reader's role.
  std::atomic<short> step_interest_{POLLIN};
  remote::Moment step_due_;
  std::mutex own_mutex_;
  std::mutex& mutex_;
  std::shared_ptr<Stream> stream_;  // shared with a thread that writes at this moment
  std::optional<base::Endpoint> only_;
  std::string only_host_;
  base::Endpoint endpoint_;
  std::string host_;
  UnderWay calls_;  // sent, not answered
  remote::RoundTrip round_trip_;
  LoadedScripts loaded_;
  std::atomic<std::size_t> unanswered_{0};  // their number
  remote::Moment deadline_;                 // of the oldest
  std::string out_;                         // not sent
  std::atomic<bool> gathering_{false};      // `out_` is kept back; set in the reader's role only
  Instant gathering_since_{};
  // Whether a thread is writing, to which `batch_` belongs then, and whether more has come since it
  // took that. Changed under the mutex, but for the end of a batch behind which nothing has come.
  static constexpr unsigned nobody_writes = 0;
  static constexpr unsigned somebody_writes = 1;
  static constexpr unsigned more_came = 2;
  std::atomic<unsigned> writing_{nobody_writes};
  std::string batch_;
  std::optional<Failure> why_broken_;  // of a link that is, if there was memory for it
};

// Under the mutex. It is broken also where there is no memory for the words.
template <class Why>
void Connection::break_locked(Why why) noexcept {
  link_.mark_broken();
  base::without_memory([&] { why_broken_ = why(); });
}

}  // namespace mortise::redis
