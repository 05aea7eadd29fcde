// SPDX-License-Identifier: MIT
// What administrators ask of a client: its calls with their time limits, and the answers' own part
// of an operation.
#include <mortise/backend.hpp>
#include <mortise/client.hpp>
#include <mortise/listing.hpp>
#include <mortise/listing_operation.hpp>

#include "base/printable.hpp"
#include "core/figures.hpp"
#include "core/force_course.hpp"
#include "core/terms.hpp"
#include "runtime/call/asking.hpp"
#include "runtime/client/client_state.hpp"
#include "runtime/client/feature_support.hpp"
#include "runtime/client/raise.hpp"

#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mortise {

// The author of another backend makes tokens by the first.
static_assert(token_of(1) == Token(core::tokens_in_a_grant));

void Listing::answered(NamePage page) {
  if (!begin_completion()) return;
  page_ = std::move(page);
  finish();
}

void QueueLook::answered(NameQueue queue, std::vector<HoldMark> marks) {
  if (!begin_completion()) return;
  const auto finish_entry = [this](auto& entry) {
    base::make_printable(entry.label);  // another client has written it
    if (mode_ != Mode::exclusive) entry.mode = mode_;
  };
  for (HolderEntry& each : queue.holders) finish_entry(each);
  for (WaiterEntry& each : queue.waiters) finish_entry(each);
  queue_ = std::move(queue);
  marks_ = std::move(marks);
  finish();
}

std::vector<FoundHold> QueueLook::holds() const {
  std::vector<FoundHold> holds;
  for (const HolderEntry& each : queue_.holders) {
    const HoldMark mark = holds.size() < marks_.size() ? marks_[holds.size()] : HoldMark{};
    holds.push_back({.hold = {.name = name_,
                              .attempt = mark.attempt,
                              .number = core::number_of(each.token),
                              .mode = each.mode},
                     .mark = mark.mark,
                     .holder = {.label = each.label,
                                .token = each.token,
                                .expires_in = each.expires_in,
                                .waiters = queue_.waiters_in_all,
                                .mode = each.mode}});
  }
  return holds;
}

namespace {

using runtime::ask;
using runtime::ClientState;

Failure wrong(std::string words) { return {Errc::misconfigured, std::move(words)}; }

Failure check_limits(std::size_t limit, std::chrono::nanoseconds wait) {
  if (limit < 1 || limit > longest_page) {
    return wrong("the limit is " + std::to_string(limit) + "; it must be 1 to " +
                 std::to_string(longest_page));
  }
  if (wait.count() <= 0) return wrong("the wait must be longer than zero");
  return {};
}

/// What a caller means by a name is a lock, a semaphore or a key.
Failure check_name(std::string_view name, Mode mode) {
  if (mode == Mode::once) return core::check_key(name);
  return mode == Mode::permit ? core::check_semaphore(name) : core::check_name(name);
}

/// A store without readers still lists its locks if a caller asks for `Mode::shared`.
Failure check_space(ClientState& client, Mode mode, Feature feature) {
  if (!client.alive()) return client.closed_failure();
  Backend& backend = client.store().backend();
  if (Failure none = runtime::check_support(backend, space_of(mode))) return none;
  return runtime::check_support(backend, feature);
}

Failure list_page(ClientState& client, std::string_view prefix, const ListOptions& options,
                  NamePage& page) {
  if (Failure bad = check_limits(options.limit, options.wait)) return bad;
  if (prefix.size() > core::longest_name) {
    return wrong("the prefix has " + std::to_string(prefix.size()) + " bytes; at most " +
                 std::to_string(core::longest_name) + " are allowed");
  }
  if (Failure none = check_space(client, options.mode, Feature::lists)) return none;
  const auto listing =
      std::make_shared<Listing>(std::string(prefix), options.cursor, options.limit, options.mode);
  Failure failure = ask(client, *listing, options.wait, Errc::unavailable,
                        [&](Backend& backend) { backend.catalog()->list(listing); });
  if (!failure) page = listing->page();
  return failure;
}

Failure look_at(ClientState& client, std::string_view name, const QueueOptions& options,
                NameQueue& queue) {
  if (Failure bad = check_limits(options.limit, options.wait)) return bad;
  if (Failure bad = check_name(name, options.mode)) return bad;
  if (Failure none = check_space(client, options.mode, Feature::queues)) return none;
  const auto look = std::make_shared<QueueLook>(std::string(name), options.limit, options.mode);
  Failure failure = ask(client, *look, options.wait, Errc::unavailable,
                        [&](Backend& backend) { backend.catalog()->queue(look); });
  if (!failure) queue = look->queue();
  return failure;
}

core::ForceCourse::Found find(ClientState& client, std::string_view name, Mode mode,
                              const core::ForceCourse& course) {
  const auto look =
      std::make_shared<QueueLook>(std::string(name), course.limit(), mode, course.of());
  Failure failure = ask(client, *look, course.until() - BootClock::now(), Errc::unavailable,
                        [&](Backend& backend) { backend.enforcer()->find(look); });
  if (failure) return {.failure = std::move(failure)};
  return {.holds = look->holds()};
}

/// A release by force, on its way.
struct Ending {
  Ending(ClientState& client, const FoundHold& found)
      : release(std::make_shared<Release>(found)),
        question(client.store(), *release, Errc::in_doubt),
        unsent(question.send([this](Backend& backend) { backend.enforcer()->end(release); })) {}
  const std::shared_ptr<Release> release;
  runtime::Question question;
  Failure unsent;
};

/// All of them leave before the first answer is awaited.
core::ForceCourse::Ended end(ClientState& client, const core::ForceCourse& course) {
  std::deque<Ending> endings;
  for (const FoundHold& each : course.holds()) endings.emplace_back(client, each);
  core::ForceCourse::Ended ended;
  for (Ending& each : endings) {
    Failure failure = each.unsent ? std::move(each.unsent)
                                  : each.question.wait(course.until() - BootClock::now());
    // Without an answer a thread of the backend may write the outcome at this moment.
    const Released outcome = failure ? Released::unknown : each.release->outcome();
    ended.answers.push_back({std::move(failure), outcome});
  }
  ended.now = BootClock::now();
  return ended;
}

Failure end_holds(ClientState& client, std::string_view name, const ForceOptions& options,
                  std::vector<Holder>& ended) {
  if (Failure bad = check_limits(1, options.wait)) return bad;
  if (Failure bad = check_name(name, options.mode)) return bad;
  if (options.mode == Mode::permit && !options.of) {
    return wrong("to release a permit by force, pass its token; Client::queue() returns it");
  }
  if (Failure none = check_space(client, options.mode, Feature::forces)) return none;
  using core::ForceCourse;
  const Instant began = BootClock::now();  // real time: see StoreAccess::wait_done()
  const bool endless = std::chrono::nanoseconds(options.wait) >= never - began;
  ForceCourse course(options.of, endless ? never : began + options.wait);
  for (ForceCourse::Do what = ForceCourse::start(); what != ForceCourse::Do::report;) {
    what = what == ForceCourse::Do::find ? course.step(find(client, name, options.mode, course))
                                         : course.step(end(client, course));
  }
  ended = course.ended();
  return course.failure();
}

}  // namespace

using runtime::raise_if;

NamePage Client::list(std::string_view prefix, const ListOptions& options) const {
  NamePage page;
  raise_if(list_page(*state_, prefix, options, page));
  return page;
}

NamePage Client::list(std::string_view prefix, const ListOptions& options,
                      std::error_code& ec) const {
  NamePage page;
  ec = list_page(*state_, prefix, options, page).code;
  return page;
}

NameQueue Client::queue(std::string_view name, const QueueOptions& options) const {
  NameQueue queue;
  raise_if(look_at(*state_, name, options, queue));
  return queue;
}

NameQueue Client::queue(std::string_view name, const QueueOptions& options,
                        std::error_code& ec) const {
  NameQueue queue;
  ec = look_at(*state_, name, options, queue).code;
  return queue;
}

std::vector<Holder> Client::force_release(std::string_view name, const ForceOptions& options) {
  std::vector<Holder> ended;
  raise_if(end_holds(*state_, name, options, ended));
  return ended;
}

std::vector<Holder> Client::force_release(std::string_view name, const ForceOptions& options,
                                          std::error_code& ec) {
  std::vector<Holder> ended;
  ec = end_holds(*state_, name, options, ended).code;
  return ended;
}

}  // namespace mortise
