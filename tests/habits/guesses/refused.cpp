// SPDX-License-Identifier: MIT
// Guesses of new users that must not compile, each with the reason, and other mistakes that the
// compiler answers with a sentence. guesses.sh reads this file: "// t04: reason" begins a guess,
// and
// "// says: words" is what the message has to contain.
#include <mortise/mortise.hpp>

#include <iostream>
#include <mutex>
#include <thread>

using namespace std::chrono_literals;

namespace {

using mortise::Client;
using mortise::Guard;
using mortise::Lock;

// clang-format off

// t04: a std::scoped_lock keeps a reference to its lock; a Guard may be made of a temporary one
void t04(Client& client) { std::scoped_lock g(client.make_lock("y")); }
// t07: Guard(client, "y") is the one way
void t07(Client& client) { auto g = client.guard("y"); }
// t08: Guard(client, "y", std::try_to_lock)
void t08(Client& client) { auto g = client.try_lock("y"); }
// t09: Guard(client, "y", {.wait = 2s})
void t09(Client& client) { auto g = client.acquire("y", {.wait = 2s}); }
// t10: try_lock(), as the standard calls it
void t10(Lock& lock) { auto g = lock.try_acquire(); }
// t11: Guard(lock, {.wait = 2s})
void t11(Lock& lock) { auto g = lock.guard({.wait = 2s}); }
// t14: the option is called wait; a lease is a time, too, so "timeout" says too little
void t14(Lock& lock) { Guard g(lock, {.timeout = 2s}); }
// t17: a token is compared and handed on, never calculated with: token().value()
void t17(Guard& g) { long long t = g.token(); (void)t; }
// t20: lost() is a stop token, valid_for() a time; "not lost yet" alone would invite to trust it
void t20(Guard& g) { if (g.is_lost()) return; }
// t21: if (guard)
void t21(Guard& g) { if (g.held()) return; }
// t22: if (guard)
void t22(Guard& g) { if (g.owns_lock()) return; }
// t23: lost() is a stop token: lost().stop_requested()
void t23(Guard& g) { if (g.lost()) return; }
// t25: unlock() returns what it found; release() of a std::unique_lock does not unlock
void t25(Guard& g) { g.release(); }
// t26: the watchdog renews a lease; LockOptions::max_hold limits it
void t26(Guard& g) { g.extend(10s); }
// t28: the option is called lease
void t28(Client& client) { auto l2 = client.make_lock("y", {.ttl = 30s}); }
// t30: a handle is moved, or made once more
void t30(Lock& lock) { auto l2 = lock; }
// t31: a handle is moved, or made once more
void t31(Lock& lock) { std::vector<Lock> v; v.push_back(lock); }
// t35: several locks are one list
// says: put the locks into braces
void t35(Lock& lock) { auto gs = mortise::lock_all(lock, lock); }
// t39: the permit is given back as soon as it is ignored
// says: nodiscard
void t39(Client& client) { auto sem = client.make_semaphore("s", 4); sem.acquire(); }
// t40: the Permit gives itself back
void t40(mortise::Semaphore& sem) { sem.release(); }
// t43: make_read_write_lock()
void t43(Client& client) { auto rw = client.shared_mutex("c"); }
// t44: make_read_write_lock()
void t44(Client& client) { auto rw = client.rwlock("c"); }
// t46: reader or writer?
// says: Say which: Guard(lock.reader()) or Guard(lock.writer())
void t46(mortise::ReadWriteLock& rw) { Guard g(rw); }
// t47: result(); it is empty unless the key succeeded, and throws nothing, so it is no value()
void t47(mortise::Outcome& o) { std::cout << o.value(); }
// t49: a result is bytes
// says: the body of Once::run() returns its result as text
void t49(Client& client) { auto o = client.make_once("k").run([] { return 42; }); }
// t50: make_once("k").run(body): the options come between
void t50(Client& client) { auto o = client.make_once("k", [] { return std::string("x"); }); }
// t52: if (outcome)
void t52(mortise::Outcome& o) { if (o.succeeded()) {} }
// t53: client.with_lock(name, function)
void t53(Lock& lock) { lock.with([] {}); }
// t56: a lock that was free a moment ago says nothing; holder() says who has it
void t56(Lock& lock) { if (lock.is_locked()) {} }
// t58: whether it is locked is the answer
// says: nodiscard
void t58(Lock& lock) { lock.try_lock(); }
// t59: one store a client; "redlock://a,b,c" is a quorum
void t59() { Client c2("redis://127.0.0.1", "redis://127.0.0.2"); }
// t61: make_lock("x")
void t61(Client& client) { auto& l = client["x"]; }
// t62: check(), which proves more than an answer
void t62(Client& client) { client.ping(); }
// t63: check() connects; without it the first call does
void t63(Client& client) { client.connect(); }
// t72: designators come in the order of the fields: wait, stop, owner
void t72(Lock& lock) { Guard g(lock, {.stop = std::stop_source{}.get_token(), .wait = 2s}); }
// t73: Owner::this_thread(), which is the default
void t73(Lock& lock) { Guard g(lock, {.wait = 2s, .owner = std::this_thread::get_id()}); }
// t76: taking a lock is written out
void t76(Lock& lock) { Guard g = lock; }

// A compiler reports an instantiation once, so each number below has a type of its own.
// u01: a lease without a unit
// says: a time needs a unit. Write 30s or 500ms
void u01(Client& client) { auto l = client.make_lock("x", {.lease = 30}); }
// u02: a wait without a unit
// says: a time needs a unit. Write 30s or 500ms
void u02(Lock& lock) { Guard g(lock, 30L); }
// u03: a wait without a unit
// says: a time needs a unit. Write 30s or 500ms
void u03(Client& client) { Guard g(client, "x", {.wait = 2.5}); }
// u04: how long a key is kept, without a unit
// says: a time needs a unit. Write 30s or 500ms
void u04(Client& client) { auto o = client.make_once("x", {.keep = 3600U}); }
// u05: a wait without a unit
// says: a time needs a unit. Write 30s or 500ms
void u05(mortise::Semaphore& sem) { auto p = sem.try_acquire_for(2.5F); }
// u06: an option of the client without a unit
// says: a time needs a unit. Write 30s or 500ms
void u06() { Client c("memory:", {.give_up = 10LL}); }
// u07: an option of an administrator's call without a unit
// says: a time needs a unit. Write 30s or 500ms
void u07(Client& client) { auto page = client.list("x", {.wait = 5UL}); }
// u08: a function with a parameter that nobody has
// says: the function of with_lock() takes mortise::Guard&, or nothing
void u08(Client& client) { client.with_lock("x", [](int) {}); }
// u09: a body with a parameter that nobody has
// says: the body of Once::run() takes mortise::Run&, or nothing
void u09(Client& client) { auto o = client.make_once("k").run([](int) {}); }
// u11: a bool in an optional reads as true in an if
// says: with_lock() returns an optional
bool u11(Client& client) { return client.with_lock("x", [] { return false; }).has_value(); }
// u12: names that are read once only
// says: no matching function for call to
void u12(Client& client, std::istream& in) {
  auto g = lock_all(client, std::ranges::subrange(std::istream_iterator<std::string>(in), {}));
}
// u10: whether the function was called is the answer
// says: nodiscard
void u10(Client& client) { client.with_lock("x", {.wait = 2s}, [] {}); }

// clang-format on

}  // namespace
