// SPDX-License-Identifier: MIT
// One request on its way: for which attempt, and which step of it.
#pragma once

#include <mortise/operation.hpp>

#include "zookeeper/kept.hpp"
#include "zookeeper/lock_path.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::zookeeper {

struct Gathering;
class Session;

/// What an attempt for a key of `Once` knows beside its node. Others read what it writes, and it
/// runs only if that was written: the order of the queue decides who tries first, and no more.
struct KeyTurn {
  KeyPlace place{};
  std::shared_ptr<const Memory> memory{};
  bool recalled = false;     ///< `memo` was read, before there was a node
  Memo memo{};               ///< as last read
  std::string runner{};      ///< whole path of the node of whoever ran it when the queue was listed
  bool needs_time = false;   ///< precisely, since that may be over just now
  bool watching = false;     ///< what is kept
  bool begins = false;       ///< what makes it the runner is on its way
  std::uint64_t run = 0;     ///< its own
  std::int32_t version = 0;  ///< of what it wrote as it began
  std::shared_ptr<const Conclusion> conclusion{};  ///< to be written as the node goes
  int sayings = 0;                                 ///< how often it was sent
  Instant said_first{};
};

/// Bytes of a session's budget. All that it owns is written into one packet by the server when it
/// ends, and all that it watches by the client when it has a new connection.
struct Paths {
  std::size_t owned = 0;
  std::size_t watched = 0;
};

/// One attempt at the server: its node, from the first request until the node is proven gone.
/// Guarded by the backend's mutex.
struct Contender {
  AttemptId attempt{};
  std::string name{};  ///< of the lock, or of the key
  std::string path{};  ///< of the queue
  /// The node that keeps the name, because the paths have only its digest; empty: they have it all.
  std::string name_node{};
  bool name_is_there = false;  ///< it was read there: the queue is that of this name
  std::string prefix{};        ///< of the node in this round: path and guid
  std::uint32_t round = 0;
  std::uint32_t permits = 0;  ///< of a semaphore: how many there are
  std::string label{};
  std::chrono::nanoseconds lease{};
  bool wait = false;
  Mode mode = Mode::exclusive;
  bool wanted = false;                ///< a reader: somebody waits for it to end
  Instant wanted_as_of{};             ///< when the server was asked for that
  bool is_gate = false;               ///< in the lock that those who wait for a permit queue at
  bool gate_is_wanted = false;        ///< others stand there, as far as is known
  std::shared_ptr<Contender> gate{};  ///< of a permit: its own there; null: it has not come to it
  std::weak_ptr<Contender> opens_for{};  ///< of a gate: for whom
  std::optional<AttemptId> beside{};     ///< its owner's hold, where it goes on as a reader
  std::int64_t beside_number = 0;        ///< ... and the number of that; 0: it queues as any other
  Session* session = nullptr;

  std::shared_ptr<Acquisition> operation{};          ///< until it is completed
  std::vector<std::shared_ptr<Release>> releases{};  ///< to be answered when the node is gone
  bool held = false;
  bool leaving = false;    ///< the node is to go
  bool withdrawn = false;  ///< ... and the attempt to begin anew: the queue has to drain
  bool drains = false;     ///< with the node its parent is to go, so that the counter begins anew
  bool erased = false;     ///< nobody knows it any more
  bool stands = false;     ///< its node is not to go yet: who has held by it does not know

  std::string node{};       ///< its whole path; empty: not known
  std::int64_t number = 0;  ///< of its grant: the transaction that made the node, or began the run
  bool unsure = false;      ///< it was asked for, and it is not known whether it is there
  bool removing = false;    ///< its removal is on its way
  bool remove_unsure = false;  ///< it was, and the answer was lost
  bool parents_missing = false;
  Failure parent_failure{};  ///< why they could not be made
  bool peeked = false;       ///< the queue was looked at, and was empty
  int flight = 0;            ///< requests on their way
  Paths paths{};             ///< of the session's budget

  std::string predecessor{};  ///< whole path
  std::size_t ahead = 0;
  std::string head{};         ///< whole path of who had the lock when the queue was last listed
  std::size_t waiters = 0;    ///< for that lock, by the same list
  bool head_told = false;     ///< the caller knows who that is
  bool watching = false;      ///< the predecessor
  bool event_grants = false;  ///< its end leaves the lock to us, where nobody else is ahead
  bool own_watch = false;     ///< the own node, for the holder's sake
  bool own_is_next = false;   ///< to be looked at: the own node, not the predecessor
  bool hurry = false;         ///< the predecessor went while a request was on its way
  Instant again{};            ///< not before then
  Instant lapse = never;      ///< a hold that was not renewed by then is over
  Instant counted{};          ///< from when the library counts the hold
  std::unique_ptr<KeyTurn> key{};  ///< null: it is for a lock
};

/// A node that was asked for and was not there when it was looked for: the request may still be on
/// its way, in a connection that has long been given up, and the node would stand in the queue as
/// long as the session lives. So it is looked for again, ever more seldom.
struct Doubt {
  Session* session = nullptr;
  std::string path{};    ///< of the queue
  std::string prefix{};  ///< of the node: path and guid
  Instant again{};
  std::chrono::nanoseconds pause{};
  int looks = 0;
};

struct Call {
  enum class Step : std::uint8_t {
    create,       ///< the own node
    parent,       ///< a node above it
    queue,        ///< the list that left with it
    look,         ///< the list again
    peek,         ///< the list before anything is made
    name,         ///< whose queue it is, before a list, where the path has only a digest
    settle,       ///< the list after a sync: is the node there?
    settle_node,  ///< whose it is
    watch,        ///< the predecessor
    recheck,      ///< the predecessor, again
    own_check,    ///< the own node, in case that a stranger has deleted it
    confirm,      ///< the own node, before an old grant is believed
    holder,       ///< the head of the queue: who has the lock
    remove,       ///< the own node
    own_watch,    ///< the own node of a hold
    go_on,        ///< an owner's node is told of, and one as a reader is made beside it
    gate,         ///< the list of those who wait for a permit
    crowd,        ///< the list: does anybody wait for a reader to end?
    beat,         ///< a sync that shows the leader what the pulse before has told
    beat_write,   ///< the write that proves it
    doubt,        ///< the list: has a node come that was given up?
    doubt_gone,   ///< such a node is removed
    inspect,      ///< the list
    inspect_head,
    check,          ///< a node is made and removed, as of a lock
    check_parent,   ///< a node above that
    check_list,     ///< the list of those that are beside it
    force_remove,   ///< the node of another client's hold
    shelf,          ///< how often something was removed from it, before what is kept is read
    recall,         ///< what is kept of a key, before anything is made
    kept,           ///< the same, with the list behind it
    kept_watch,     ///< the same, to be told when it changes
    kept_again,     ///< the same, since it has changed
    begin,          ///< the own node is there, and the key is pending
    begin_new,      ///< both are made
    begun,          ///< what is kept by then
    conclude,       ///< the outcome is kept, and the own node is gone
    concluded,      ///< what is kept, since that was refused
    look_up_shelf,  ///< as `shelf`
    look_up,        ///< what is kept of a key
    look_up_queue,  ///< ... and the list, which tells whether it runs
    look_up_gone,   ///< it is forgotten
    recognise,      ///< what is kept: is it what a release wrote?
    tidy_list,      ///< what is on a shelf
    tidy_shelf,     ///< as `shelf`
    tidy_look,      ///< what is kept of a key
    tidy_queue,     ///< the list, which tells whether it runs
    gather,         ///< a list, and a look at each of what it tells: see zookeeper_listing.cpp
    gather_queue,   ///< one of those that a queue is told from, or the keys of a shelf
    gather_name,    ///< the name of a lock whose node is called by its digest
    ignore,
  };
  Step step = Step::ignore;
  Step next = Step::ignore;  ///< of `name`: what is asked for if it is the right one
  std::shared_ptr<Contender> contender{};
  std::shared_ptr<Operation> operation{};  ///< of those that are for no contender
  std::string path{};                      ///< what was asked for, where it matters
  Instant asked{};                         ///< when, where it matters
  std::size_t count = 0;                   ///< of waiters
  std::optional<Holder> holder{};          ///< who is removed
  std::shared_ptr<Gathering> gathering{};  ///< to which the answer belongs; null = it begins one
  std::shared_ptr<Memo> memo{};            ///< what was kept of the key
  std::shared_ptr<Failure> refusal{};      ///< of `check`: why a node above could not be made
  bool unsure = false;                     ///< the one before it may have been carried out
  bool may_come = false;                   ///< ... or may still be
  bool precisely = false;                  ///< the time was asked for
};

}  // namespace mortise::zookeeper
