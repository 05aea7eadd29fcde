// SPDX-License-Identifier: MIT
// Each argument costs the server time, so there are few, and flags are one word; nothing here
// allocates but a batch of renewals, since this is part of every round trip.
#include "redis/store/requests.hpp"

#include "base/scratch.hpp"
#include "core/figures.hpp"
#include "redis/store/answer.hpp"
#include "redis/store/command.hpp"
#include "redis/store/listing.hpp"
#include "redis/store/lock_key.hpp"
#include "remote/outbox.hpp"

#include <algorithm>
#include <array>

namespace mortise::redis {
namespace {

Digits milliseconds(std::chrono::nanoseconds lease) {
  return Digits(static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(lease).count()));
}

std::string_view verb_of(const Passage& passage) { return passage.whole ? "EVAL" : "EVALSHA"; }

/// By which a script is called, or sent whole. @param room where its text is made, if it has to be
std::string_view words_of(const Script& script, const Settings& settings, const Passage& passage,
                          std::string& room) {
  if (!settings.is_cluster()) return passage.whole ? script.text : script.sha;
  if (!passage.whole) return script.cluster_sha;
  room = cluster_text(script);
  return room;
}

/// A call for one lock. The words are put where they belong, as many as there are: room for as many
/// as a call may have would have to be cleared first, which takes longer than to fill it.
template <class... Arguments>
void append_call(std::string& out, const Settings& settings, const Script& script,
                 const Passage& passage, std::string_view name, const Arguments&... arguments) {
  base::Scratch<struct RequestKey> scratch;
  std::string& key = scratch.text();
  append_lock_key(key, settings.prefix, name);
  const std::string_view verb = verb_of(passage);
  std::string room;
  const std::string_view which = words_of(script, settings, passage, room);
  if (settings.queue_mode == QueueMode::redisson) {
    append_command(out, std::array{verb, which, std::string_view("2"), std::string_view(key), name,
                                   std::string_view(arguments)...});
  } else {
    append_command(out, std::array{verb, which, std::string_view("1"), std::string_view(key),
                                   std::string_view(arguments)...});
  }
}

/// The same for a key of `Once`, or a semaphore, of which Redisson knows none.
template <class... Arguments>
void append_our_call(Mode which_of_them, std::string& out, const Settings& settings,
                     const Script& script, const Passage& passage, std::string_view name,
                     const Arguments&... arguments) {
  const std::string key = redis_key(settings.prefix, name, which_of_them);
  std::string room;
  const std::string_view which = words_of(script, settings, passage, room);
  append_command(out, std::array{verb_of(passage), which, std::string_view("1"),
                                 std::string_view(key), std::string_view(arguments)...});
}

/// The same for whatever the mode says.
template <class... Arguments>
void append_either(Mode mode, std::string& out, const Settings& settings, const Script& script,
                   const Passage& passage, std::string_view name, const Arguments&... arguments) {
  if (mode == Mode::exclusive || mode == Mode::shared) {
    append_call(out, settings, script, passage, name, arguments...);
  } else {
    append_our_call(mode, out, settings, script, passage, name, arguments...);
  }
}

bool is_beside_redisson(const Settings& settings, Mode mode) {
  return settings.queue_mode == QueueMode::redisson && mode == Mode::exclusive;
}

// Readers and permits wait in order, even next to Redisson.
std::string_view order_of(const Settings& settings, Mode mode) {
  switch (settings.queue_mode) {
    case QueueMode::fair: break;
    case QueueMode::unfair: return "unfair";
    case QueueMode::redisson: return mode == Mode::exclusive ? "redisson" : "fair";
  }
  return "fair";
}

/// Words as the scripts read them, with a space between two. No allocation: part of each request.
class ScriptWords {
 public:
  void add(std::string_view word) {
    if (word.empty()) return;
    if (size_ > 0) text_[size_++] = ' ';
    size_ += word.copy(text_.data() + size_, text_.size() - size_);
  }
  [[nodiscard]] std::string_view view() const noexcept { return {text_.data(), size_}; }

 private:
  std::array<char, 40> text_{};  // the longest has four words
  std::size_t size_ = 0;
};

/// When a waiter runs a key that has an outcome.
char letter_of(Repeat repeat) {
  switch (repeat) {
    case Repeat::after_failure: break;
    case Repeat::never: return 'n';
    case Repeat::always: return 'a';
  }
  return 'f';
}

/// What an attempt wants, as it stands in the queue.
char kind_of(const Settings& settings, const Acquisition::Request& request) {
  if (request.mode == Mode::once) return letter_of(request.memory->repeat);
  if (request.mode != Mode::exclusive) return 'r';
  return is_beside_redisson(settings, request.mode) ? 'x' : 'w';
}

/// How long a key lives with a hold of that lease, in ms.
Digits life_with(const Settings& settings, std::chrono::nanoseconds lease) {
  return Digits(static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(lease).count() +
      std::int64_t{settings.remembered} * 1000));
}

/// The same with one that a waiter gets.
Digits life_after_handing_over(const Settings& settings) {
  return life_with(settings, std::chrono::seconds(2));
}

/// The word by which the scripts know a request whose slot is on its way to the server.
std::string_view importing(const Passage& passage) noexcept {
  return passage.importing ? "importing" : "";
}

std::string_view wait_or_try(bool wait) noexcept { return wait ? "wait" : "try"; }

/// Passes on what a request to take says of an attempt, as acquire.lua lists it.
template <class Append>
void with_attempt(const Settings& settings, const Passage& passage,
                  const Acquisition::Request& request, bool wait, bool listening,
                  const Append& append) {
  const AttemptText attempt(request.attempt);
  const Digits moment(static_cast<std::uint64_t>(passage.deadline.count()));
  const Digits lease = milliseconds(request.lease);
  const Digits life = life_with(settings, request.lease);
  const char kind = kind_of(settings, request);
  ScriptWords words;
  words.add({&kind, 1});
  words.add(order_of(settings, request.mode));
  words.add(wait_or_try(wait));
  words.add(listening && !passage.importing ? "listening" : importing(passage));
  const std::string_view wants = words.view();
  if (request.mode == Mode::permit) {
    append(attempt.view(), moment, lease, life, request.label, wants, "", Digits(request.permits));
  } else if (request.beside) {
    append(attempt.view(), moment, lease, life, request.label, wants,
           AttemptText(*request.beside).view());
  } else {
    append(attempt.view(), moment, lease, life, request.label, wants);
  }
}

/// How long the number of a free name is remembered, in ms.
Digits remembered(const Settings& settings) {
  return Digits(static_cast<std::uint64_t>(settings.remembered) * 1000);
}

}  // namespace

std::string cluster_text(const Script& script) {
  std::string text(script.text);
  for (const ScriptReplacement& each : scripts::of_cluster) {
    for (std::size_t at = 0; (at = text.find(each.plain, at)) != std::string::npos;) {
      text.replace(at, each.plain.size(), each.sharded);
      at += each.sharded.size();
    }
  }
  return text;
}

Requests::Requests(const Settings& settings) : settings_(settings) {}

void Requests::subscribe(std::string& out, std::string_view channel) {
  append_command(out, std::array<std::string_view, 2>{"SUBSCRIBE", channel});
}

void Requests::unsubscribe(std::string& out, std::string_view channel) {
  append_command(out, std::array<std::string_view, 2>{"UNSUBSCRIBE", channel});
}

void Requests::slots(std::string& out) {
  append_command(out, std::array<std::string_view, 2>{"CLUSTER", "SLOTS"});
}

void Requests::asking(std::string& out) {
  append_command(out, std::array<std::string_view, 1>{"ASKING"});
}

void Requests::subscribe_to(std::string& out, std::string_view inbox, std::string_view name) {
  append_command(out, std::array<std::string_view, 2>{"SSUBSCRIBE", lock_key(inbox, name)});
}

void Requests::unsubscribe_from(std::string& out, std::string_view inbox, std::string_view name) {
  append_command(out, std::array<std::string_view, 2>{"SUNSUBSCRIBE", lock_key(inbox, name)});
}

std::string Requests::inbox(const AttemptId& of_client) const {
  return (settings_.prefix + "inbox:").append(AttemptText(of_client).client());
}

Failure Requests::check_name(std::string_view name) const {
  if (settings_.queue_mode != QueueMode::redisson ||
      name.find_first_of("{}") == std::string_view::npos) {
    return {};
  }
  return {Errc::misconfigured, "with interop=redisson the name of a lock must not contain braces"};
}

void Requests::acquire(std::string& out, const Passage& passage,
                       const Acquisition::Request& request, bool wait, bool listening) const {
  with_attempt(settings_, passage, request, wait, listening, [&](const auto&... words) {
    append_either(request.mode, out, settings_, scripts::acquire, passage, request.name, words...);
  });
}

void Requests::ask(std::string& out, const Passage& passage,
                   const std::vector<std::shared_ptr<Acquisition>>& waiters) const {
  std::vector<std::string> texts;  // reserved, so that the views of it stay
  std::vector<std::string_view> words;
  texts.reserve(waiters.size() * 2 + 1);
  words.reserve(waiters.size() * 2 + 3);
  std::string room;
  words.push_back(verb_of(passage));
  words.push_back(words_of(scripts::ask, settings_, passage, room));
  words.push_back(texts.emplace_back(std::to_string(waiters.size())));
  for (const auto& each : waiters) {
    const Acquisition::Request& request = each->request();
    words.push_back(texts.emplace_back(redis_key(settings_.prefix, request.name, request.mode)));
  }
  for (const auto& each : waiters) {
    const Acquisition::Request& request = each->request();
    std::string& member = texts.emplace_back(1, kind_of(settings_, request));
    words.push_back(member.append(AttemptText(request.attempt).view()));
  }
  append_command(out, words);
}

void Requests::cancel(std::string& out, const Passage& passage, const Acquisition::Request& request,
                      std::optional<std::uint64_t> grant) const {
  const AttemptText attempt(request.attempt);
  if (request.mode == Mode::once) {
    const Digits number(grant.value_or(0));
    return append_our_call(Mode::once, out, settings_, scripts::once::cancel, passage, request.name,
                           attempt.view(), importing(passage),
                           grant ? std::string_view(number) : std::string_view());
  }
  append_either(request.mode, out, settings_, scripts::cancel, passage, request.name,
                attempt.view(), life_after_handing_over(settings_), importing(passage));
}

void Requests::begin(std::string& out, const Passage& passage, const Acquisition::Request& request,
                     bool wait, std::uint64_t concluded) const {
  const Memory& memory = *request.memory;
  const AttemptText attempt(request.attempt);
  const Digits moment(static_cast<std::uint64_t>(passage.deadline.count()));
  const Digits keep(static_cast<std::uint64_t>(memory.keep.count()));
  const Digits number(concluded);
  const char letter = letter_of(memory.repeat);
  ScriptWords words;
  words.add(wait_or_try(wait));
  words.add(importing(passage));
  append_our_call(Mode::once, out, settings_, scripts::once::begin, passage, request.name,
                  attempt.view(), moment, milliseconds(request.lease), request.label,
                  std::string_view(&letter, 1), keep, memory.fingerprint, words.view(),
                  concluded == 0 ? std::string_view() : std::string_view(number),
                  remembered(settings_));
}

void Requests::conclude(std::string& out, const Passage& passage, const HoldId& hold,
                        const Conclusion* conclusion) const {
  const AttemptText attempt(hold.attempt);
  const bool runs_again = conclusion != nullptr && conclusion->memory->repeat == Repeat::always;
  const auto append = [&](std::string_view letter, std::uint64_t keep, std::string_view bytes) {
    append_our_call(Mode::once, out, settings_, scripts::once::conclude, passage, hold.name,
                    attempt.view(), Digits(hold.number), letter, Digits(keep), bytes,
                    remembered(settings_), importing(passage), runs_again ? "1" : "");
  };
  if (conclusion == nullptr) return append(passage.undoes ? "U" : "", 0, "");
  append(conclusion->state == KeyState::succeeded ? "Y" : "F",
         static_cast<std::uint64_t>(conclusion->memory->keep.count()), conclusion->bytes);
}

void Requests::recall(std::string& out, const Passage& passage, std::string_view key,
                      const Answer* found) const {
  const auto append = [&](std::string_view number) {
    append_our_call(Mode::once, out, settings_, scripts::once::recall, passage, key, number);
  };
  if (found == nullptr) return append("");
  append(Digits(found->record->number));
}

void Requests::release(std::string& out, const Passage& passage, const HoldId& hold,
                       const Acquisition::Request* successor, bool wait) const {
  const AttemptText attempt(hold.attempt);
  const Digits number(hold.number);
  const Digits life = life_after_handing_over(settings_);
  ScriptWords flags;
  flags.add(order_of(settings_, hold.mode));
  flags.add(passage.listening && !passage.importing ? "listening" : importing(passage));
  const auto append = [&](const auto&... words) {
    append_either(hold.mode, out, settings_, scripts::release, passage, hold.name, attempt.view(),
                  number, life, flags.view(), words...);
  };
  if (successor == nullptr) return append();
  with_attempt(settings_, passage, *successor, wait, false, append);
}

void Requests::renew(std::string& out, const Passage& passage,
                     const std::vector<Renewal::Item>& items) const {
  const bool both = settings_.queue_mode == QueueMode::redisson;
  std::vector<std::string> texts;  // reserved, so that the views of it stay
  std::vector<std::string_view> words;
  texts.reserve(items.size() * 5 + 1);
  words.reserve(items.size() * 6 + 4);
  words.push_back(verb_of(passage));
  std::string room;
  words.push_back(words_of(scripts::renew, settings_, passage, room));
  words.push_back(texts.emplace_back(std::to_string(items.size() * (both ? 2 : 1))));
  for (const Renewal::Item& item : items) {
    const std::string& key =
        texts.emplace_back(redis_key(settings_.prefix, item.hold.name, item.hold.mode));
    words.push_back(key);
    if (!both) continue;
    const bool has_one = is_beside_redisson(settings_, item.hold.mode);
    words.push_back(has_one ? std::string_view(item.hold.name) : std::string_view(key));
  }
  ScriptWords flags;
  if (both) flags.add("redisson");
  flags.add(importing(passage));
  words.push_back(flags.view());
  for (const Renewal::Item& item : items) {
    words.push_back(texts.emplace_back(AttemptText(item.hold.attempt).view()));
    words.push_back(texts.emplace_back(Digits(item.hold.number)));
    words.push_back(texts.emplace_back(milliseconds(item.lease)));
    words.push_back(texts.emplace_back(life_with(settings_, item.lease)));
  }
  append_command(out, words);
}

void Requests::inspect(std::string& out, const Passage& passage, std::string_view name) const {
  append_call(out, settings_, scripts::inspect, passage, name, "");
}

void Requests::check(std::string& out, const Passage& passage) const {
  append_call(out, settings_, scripts::inspect, passage, remote::probed_name, "write");
}

void Requests::list(std::string& out, const Passage& passage, const Listing& page,
                    std::string_view cursor) const {
  // As long as others wait for that many: a third of a millisecond, if all are ours.
  constexpr std::size_t most_looks = 100;
  const std::string pattern = key_pattern(settings_.prefix, page.prefix(), page.mode());
  const Digits looks(std::min(page.limit(), most_looks));
  const Digits prefix(settings_.prefix.size());
  const bool beside = is_beside_redisson(settings_, page.mode());
  const std::string_view at = cursor.empty() ? std::string_view("0") : cursor;
  std::string room;
  const std::string_view which = words_of(scripts::list, settings_, passage, room);
  append_command(
      out, std::array<std::string_view, 7>{verb_of(passage), which, "0", at, pattern, looks,
                                           beside ? std::string_view(prefix) : std::string_view()});
}

void Requests::queue(std::string& out, const Passage& passage, const QueueLook& look) const {
  if (look.mode() == Mode::once) {
    return append_our_call(Mode::once, out, settings_, scripts::once::queue, passage, look.name(),
                           Digits(look.of() ? 0 : look.limit()));
  }
  const Digits number(look.of() ? core::number_of(look.of()) : 0);
  append_either(look.mode(), out, settings_, scripts::queue, passage, look.name(),
                Digits(look.of() ? 1 : look.limit()),
                look.of() ? std::string_view(number) : std::string_view());
}

void Requests::force_release(std::string& out, const Passage& passage,
                             const FoundHold& found) const {
  const Digits number(found.hold.number);
  const std::string_view which =
      found.mark.empty() ? std::string_view(number) : std::string_view(found.mark);
  if (found.hold.mode == Mode::once) {
    return append_our_call(Mode::once, out, settings_, scripts::once::force_release, passage,
                           found.hold.name, which, importing(passage));
  }
  append_either(found.hold.mode, out, settings_, scripts::force_release, passage, found.hold.name,
                which, life_after_handing_over(settings_), importing(passage));
}

}  // namespace mortise::redis
