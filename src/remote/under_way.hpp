// SPDX-License-Identifier: MIT
// The calls that were sent on a connection and are not answered. Answers come in the order of the
// calls. A connection can break, and the next one can be made, while a thread stands between two
// steps of a send. So each connection has a number, its generation, and a thread applies nothing
// that it learned of one connection to another one.
#pragma once

#include <mortise/clock.hpp>

#include "base/mutant.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <utility>

namespace mortise::remote {

/// Any thread adds a call, one at a time, under a mutex of its user. The thread that has the
/// reader's role takes the answers without that mutex.
/// @tparam Call has a `number`, which is given to it here, and the moments `deadline` and `left`.
/// `let_go(call)` drops its references and changes nothing else
/// @thread_safety see each group of members
template <class Call>
class UnderWay {
 public:
  /// Calls are passed on without memory, so that their fate can be reported if there is none.
  using Calls = std::list<Call>;
  /// The place of a call.
  struct Place {
    std::uint64_t generation = 0;
    std::uint64_t number = 0;
  };

  /// @param generations draws the numbers of all connections that share it: each is larger than
  /// those before, whichever connection had them; null = its own. Must outlive it
  explicit UnderWay(std::atomic<std::uint64_t>* generations = nullptr)
      : generations_(generations), first_(new Node), last_(first_), reader_{.answered = first_} {
    renew();
  }
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;
  ~UnderWay() {
    delete spare_;
    while (first_ != nullptr) delete std::exchange(first_, first_->next.load());
  }

  // Any thread.

  /// @return the number of the connection; grows. Without `generations` the first one is 1.
  [[nodiscard]] std::uint64_t generation() const noexcept { return generation_.load(); }
  [[nodiscard]] std::size_t size() const noexcept {
    const std::size_t over =
        reader_.over.load(std::memory_order_acquire);  // first: it never exceeds
    return added_.load(std::memory_order_acquire) - over;
  }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }

  // Under the mutex.

  /// The next `add()` needs no memory.
  void make_room() {
    drop_some();
    if (spare_ == nullptr) spare_ = take_over();
    if (spare_ == nullptr) {
      spare_ = new Node;
      ++nodes_;
    }
    if (spare_->one.empty()) spare_->one.emplace_back();
  }
  Place add(Call call) {
    make_room();
    Node& node = *std::exchange(spare_, nullptr);
    node.number = call.number = ++numbers_;
    node.deadline = call.deadline;
    node.left = call.left;
    node.one.front() = std::move(call);
    node.state.store(State::waits, std::memory_order_relaxed);
    node.next.store(nullptr, std::memory_order_relaxed);
    added_.store(added_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    last_->next.store(&node, std::memory_order_release);
    last_ = &node;
    return {generation_.load(), numbers_};
  }
  /// Exactly that call was never sent. @return it, alone; none = its connection broke, and `end()`
  /// has returned the call
  [[nodiscard]] Calls take_back(const Place& place) noexcept {
    // The write failed, the thread stood still, and the connection was made anew: the newest call
    // is another one's, and each reply goes to the call behind its own (S1).
    const bool any_newest = base::mutant("redis.take_back_from_another_connection");
    if (place.generation != generation_.load() && !any_newest) return {};
    Node* mine = nullptr;
    each_waiting([&](Node& node) {
      if (any_newest || node.number == place.number) mine = &node;
    });
    State waits = State::waits;
    if (mine == nullptr || !mine->state.compare_exchange_strong(waits, State::is_over)) return {};
    added_.store(added_.load(std::memory_order_relaxed) - 1, std::memory_order_release);
    return std::move(mine->one);
  }
  /// @param which looks at nothing of a call that `let_go()` changes
  /// @return whether there is one of that kind.
  template <class Which>
  [[nodiscard]] bool any(Which which) const {
    bool found = false;
    each_waiting([&](const Node& node) { found = found || which(node.one.front()); });
    return found;
  }

  // The reader's role.

  /// A reply came. @return the call that it answers; null = no call is under way. `answer()` or
  /// `leave()` comes next
  [[nodiscard]] Call* take_oldest() noexcept {
    for (;;) {
      Node* const node = next_waiting();
      if (node == nullptr) return nullptr;
      State waits = State::waits;
      if (!node->state.compare_exchange_strong(waits, State::taken)) continue;  // taken back
      reader_.taken = node;
      return &node->one.front();
    }
  }
  /// That was no answer yet: the call is the oldest still.
  void leave() noexcept { std::exchange(reader_.taken, nullptr)->state.store(State::waits); }
  /// It is answered.
  void answer() noexcept {
    reader_.answered.store(reader_.taken, std::memory_order_release);
    reader_.over.store(reader_.over.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  /// @return the call that was taken.
  [[nodiscard]] const Call& taken() const noexcept { return reader_.taken->one.front(); }
  /// The user has the answer.
  void finish() noexcept {
    if (reader_.taken != nullptr) let_go(std::exchange(reader_.taken, nullptr)->one.front());
  }
  /// The user could not get the answer. So the call counts as not answered, for the `end()` that
  /// has to come next: the next reply is not the answer to this call (S1).
  void put_back() noexcept { reader_.put_back = std::exchange(reader_.taken, nullptr); }

  // The reader's role, under the mutex.

  /// @param of gets the moment at which a call left, and its deadline; returns a moment
  /// @return the earliest one of all calls that are not answered; never: there is no such call.
  template <class Of>
  [[nodiscard]] Instant earliest(Of of) const {
    Instant first = never;
    each_waiting([&](const Node& node) { first = std::min(first, of(node.left, node.deadline)); });
    return first;
  }
  /// The connection broke; the next one begins.
  /// @return what was not answered
  [[nodiscard]] Calls end() noexcept {
    renew();
    Calls calls;
    if (reader_.put_back != nullptr)
      calls.splice(calls.end(), std::exchange(reader_.put_back, nullptr)->one);
    each_waiting([&](Node& node) {
      calls.splice(calls.end(), node.one);
      node.state.store(State::is_over, std::memory_order_relaxed);
    });
    reader_.over.store(added_.load(std::memory_order_relaxed), std::memory_order_release);
    // Their memory is used again, but for that of a call whose answer is passed on at this moment.
    if (reader_.taken == nullptr) reader_.answered.store(last_, std::memory_order_release);
    return calls;
  }
  /// A call that is sent from now on has a larger generation than each one before, on any
  /// connection.
  void renew() noexcept {
    std::atomic<std::uint64_t>& last = generations_ != nullptr ? *generations_ : own_;
    generation_.store(last.fetch_add(1) + 1);
  }

 private:
  enum class State : std::uint8_t { waits, taken, is_over };
  struct Node {
    Calls one{};  // the call; empty once another list has it
    std::uint64_t number = 0;
    Instant left{};
    Instant deadline{};
    std::atomic<State> state{State::is_over};
    std::atomic<Node*> next{nullptr};
  };
  /// Only the reader's role changes it.
  struct Reader {
    std::atomic<Node*> answered;       // last
    std::atomic<std::size_t> over{0};  // how many are, of those that were added
    Node* taken = nullptr;
    Node* put_back = nullptr;
  };
  static constexpr std::size_t most_spare = 64;

  /// Calls it with each node behind the last answered one whose call waits.
  template <class Visit>
  void each_waiting(Visit visit) const {
    Node* node = reader_.answered.load(std::memory_order_acquire);
    while ((node = node->next.load(std::memory_order_acquire)) != nullptr) {
      if (node->state.load(std::memory_order_acquire) != State::is_over) visit(*node);
    }
  }
  [[nodiscard]] Node* next_waiting() const noexcept {
    Node* node = reader_.answered.load(std::memory_order_relaxed);
    do {
      node = node->next.load(std::memory_order_acquire);
    } while (node != nullptr && node->state.load(std::memory_order_acquire) == State::is_over);
    return node;
  }
  /// @return a node that the reader has left behind; null = none.
  [[nodiscard]] Node* take_over() noexcept {
    if (first_ == reader_.answered.load(std::memory_order_acquire)) return nullptr;
    return std::exchange(first_, first_->next.load(std::memory_order_relaxed));
  }
  /// Many were under way. Their memory is given back, that of two with each call.
  void drop_some() noexcept {
    for (int i = 0; i < 2 && nodes_ > size() + most_spare; ++i) {
      Node* const node = take_over();
      if (node == nullptr) return;
      delete node;
      --nodes_;
    }
  }

  std::atomic<std::uint64_t>* const generations_;
  std::atomic<std::uint64_t> own_{0};
  std::atomic<std::uint64_t> generation_{0};
  // One chain: nodes to be used again, from `first_` on; that of the last answer; those that wait.
  Node* first_;
  Node* last_;
  Node* spare_ = nullptr;
  std::size_t nodes_ = 1;
  std::uint64_t numbers_ = 0;
  std::atomic<std::size_t> added_{0};
  Reader reader_;
};

}  // namespace mortise::remote
