// SPDX-License-Identifier: MIT
// Each argument costs the server time, so there are few, and flags are one word; nothing here
// allocates but a batch of renewals, since this is part of every round trip.
#include "redis/requests.hpp"

#include "base/scratch.hpp"
#include "core/figures.hpp"
#include "redis/answer.hpp"
#include "redis/command.hpp"
#include "redis/listing.hpp"
#include "redis/lock_key.hpp"
#include "remote/outbox.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>

namespace mortise::redis {
namespace {

Digits milliseconds(std::chrono::nanoseconds lease) {
  return Digits(static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(lease).count()));
}

char flag(bool value) { return value ? '1' : '0'; }

/// One character each, and how long the lock is to be remembered where that is not as usual. No
/// allocation: part of every request.
class Flags {
 public:
  Flags(std::initializer_list<char> flags, int remembered) {
    for (const char one : flags) text_[size_++] = one;
    if (remembered == Settings::usually_remembered) return;
    text_[size_++] = '.';
    char* const from = text_.data() + size_;
    size_ += static_cast<std::size_t>(std::to_chars(from, from + 10, remembered).ptr - from);
  }
  [[nodiscard]] std::string_view view() const noexcept { return {text_.data(), size_}; }

 private:
  std::array<char, 16> text_{};
  std::size_t size_ = 0;
};

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

// Beside Redisson they wait as others do, in order.
char queueing_of_ours(const Settings& settings) {
  const QueueMode mode = settings.queue_mode;
  return static_cast<char>(mode == QueueMode::redisson ? QueueMode::fair : mode);
}

/// What an administrator asks of a name, or does to it: in each mode the same script.
/// @param of_keys the same with the part that a key's record needs
template <class... Arguments>
void append_asked(Mode mode, std::string& out, const Settings& settings, const Script& script,
                  const Script& of_keys, const Passage& passage, std::string_view name,
                  const Arguments&... arguments) {
  if (mode == Mode::exclusive) {
    const Flags flags({static_cast<char>(settings.queue_mode)}, settings.remembered);
    return append_call(out, settings, script, passage, name, "", flags.view(), arguments...);
  }
  const Flags flags({queueing_of_ours(settings)}, settings.remembered);
  append_our_call(mode, out, settings, mode == Mode::once ? of_keys : script, passage, name, "",
                  flags.view(), arguments...);
}

// What a request says of the key's memory, and its label behind that: see scripts/once/record.lua.
std::string asked_of(const Acquisition::Request& request) {
  const Memory& memory = *request.memory;
  const auto keep = static_cast<std::uint64_t>(memory.keep.count());
  std::string asked;
  switch (memory.repeat) {
    case Repeat::after_failure: asked = "f"; break;
    case Repeat::never: asked = "n"; break;
    case Repeat::always: asked = "a"; break;
  }
  asked.append(Digits(keep)).append(1, ' ').append(Digits(memory.fingerprint.size()));
  return asked.append(1, ' ').append(memory.fingerprint).append(request.label);
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

Requests::Requests(const Settings& settings)
    : settings_(settings), mode_(static_cast<char>(settings.queue_mode)) {}

void Requests::subscribe(std::string& out, std::string_view channel) const {
  append_command(out, std::array<std::string_view, 2>{"SUBSCRIBE", channel});
}

void Requests::unsubscribe(std::string& out, std::string_view channel) const {
  append_command(out, std::array<std::string_view, 2>{"UNSUBSCRIBE", channel});
}

void Requests::slots(std::string& out) {
  append_command(out, std::array<std::string_view, 2>{"CLUSTER", "SLOTS"});
}

void Requests::asking(std::string& out) {
  append_command(out, std::array<std::string_view, 1>{"ASKING"});
}

void Requests::subscribe_to(std::string& out, std::string_view inbox, std::string_view name) const {
  append_command(out, std::array<std::string_view, 2>{"SSUBSCRIBE", lock_key(inbox, name)});
}

void Requests::unsubscribe_from(std::string& out, std::string_view inbox,
                                std::string_view name) const {
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
                       const Acquisition::Request& request, bool wait, bool hears) const {
  const AttemptText attempt(request.attempt);
  if (request.mode == Mode::permit) {
    const Flags flags({queueing_of_ours(settings_), flag(passage.copies), flag(wait), 'p'},
                      settings_.remembered);
    const Digits epoch(passage.epoch);
    append_our_call(Mode::permit, out, settings_, scripts::acquire, passage, request.name,
                    attempt.view(), flags.view(), epoch, milliseconds(request.lease), request.label,
                    Digits(request.permits));
    return;
  }
  const bool reads = request.mode == Mode::shared;
  const Flags flags = hears || reads
                          ? Flags({mode_, flag(passage.copies), flag(wait), reads ? 's' : '1'},
                                  settings_.remembered)
                          : Flags({mode_, flag(passage.copies), flag(wait)}, settings_.remembered);
  const Digits epoch(passage.epoch);
  const Digits lease = milliseconds(request.lease);
  const auto append = [&](const auto&... own) {
    append_call(out, settings_, scripts::acquire, passage, request.name, attempt.view(),
                flags.view(), epoch, lease, request.label, own...);
  };
  if (!request.beside) return append();
  append(AttemptText(*request.beside).view());
}

void Requests::cancel(std::string& out, const Passage& passage,
                      const Acquisition::Request& request) const {
  const bool ours = request.mode == Mode::once || request.mode == Mode::permit;
  const char mode = ours ? queueing_of_ours(settings_) : mode_;
  const AttemptText attempt(request.attempt);
  const Flags flags({mode, flag(passage.copies)}, settings_.remembered);
  const Digits epoch(passage.epoch);
  if (request.mode == Mode::permit) {
    append_our_call(Mode::permit, out, settings_, scripts::cancel, passage, request.name,
                    attempt.view(), flags.view(), epoch);
  } else if (request.mode == Mode::once) {
    append_our_call(Mode::once, out, settings_, scripts::once::cancel, passage, request.name,
                    attempt.view(), flags.view(), epoch);
  } else {
    append_call(out, settings_, scripts::cancel, passage, request.name, attempt.view(),
                flags.view(), epoch);
  }
}

void Requests::begin(std::string& out, const Passage& passage, const Acquisition::Request& request,
                     bool wait, std::uint64_t concluded) const {
  const AttemptText attempt(request.attempt);
  const Flags flags({queueing_of_ours(settings_), flag(passage.copies), flag(wait)},
                    settings_.remembered);
  const Digits epoch(passage.epoch);
  const Digits lease = milliseconds(request.lease);
  const std::string asked = asked_of(request);
  const auto append = [&](const auto&... conclusion) {
    append_our_call(Mode::once, out, settings_, scripts::once::begin, passage, request.name,
                    attempt.view(), flags.view(), epoch, lease, asked, conclusion...);
  };
  if (concluded == 0) return append();
  append(Digits(concluded));
}

void Requests::conclude(std::string& out, const Passage& passage, const HoldId& hold,
                        const Conclusion* conclusion) const {
  const char mode = queueing_of_ours(settings_);
  const HoldText ours(hold.attempt, hold.number);
  const bool succeeded = conclusion != nullptr && conclusion->state == KeyState::succeeded;
  const Flags flags =
      conclusion == nullptr
          ? Flags({mode, flag(passage.copies)}, settings_.remembered)
          : Flags({mode, flag(passage.copies), succeeded ? 'Y' : 'F'}, settings_.remembered);
  const Digits epoch(passage.epoch);
  const auto append = [&](const auto&... outcome) {
    append_our_call(Mode::once, out, settings_, scripts::once::conclude, passage, hold.name,
                    ours.view(), flags.view(), epoch, outcome...);
  };
  if (conclusion == nullptr) return append();
  append(Digits(static_cast<std::uint64_t>(conclusion->memory->keep.count())), conclusion->bytes);
}

void Requests::recall(std::string& out, const Passage& passage, std::string_view key,
                      const Answer* found) const {
  const Flags flags({queueing_of_ours(settings_)}, settings_.remembered);
  const auto append = [&](const auto&... which) {
    append_our_call(Mode::once, out, settings_, scripts::once::recall, passage, key, "",
                    flags.view(), which...);
  };
  if (found == nullptr) return append();
  append(Digits(found->record->number));
}

void Requests::release(std::string& out, const Passage& passage, const HoldId& hold,
                       const Acquisition::Request* successor, bool wait,
                       bool copies_of_successor) const {
  const HoldText ours(hold.attempt, hold.number);
  const bool permit = hold.mode == Mode::permit;
  const char mode = permit ? queueing_of_ours(settings_) : mode_;
  const char ours_to_tell = static_cast<char>(flag(passage.copies) + (passage.heard ? 2 : 0));
  const bool reads = successor != nullptr && successor->mode != Mode::exclusive;
  const Flags flags = successor == nullptr ? Flags({mode, ours_to_tell}, settings_.remembered)
                      : reads
                          ? Flags({mode, ours_to_tell, flag(wait), flag(copies_of_successor), 's'},
                                  settings_.remembered)
                          : Flags({mode, ours_to_tell, flag(wait), flag(copies_of_successor)},
                                  settings_.remembered);
  const Digits epoch(passage.epoch);
  const auto append = [&](const auto&... arguments) {
    if (permit) {
      append_our_call(Mode::permit, out, settings_, scripts::release, passage, hold.name,
                      arguments...);
    } else {
      append_call(out, settings_, scripts::release, passage, hold.name, arguments...);
    }
  };
  if (successor == nullptr) return append(ours.view(), flags.view(), epoch);
  const AttemptText next(successor->attempt);
  const Digits lease = milliseconds(successor->lease);
  if (!successor->beside) {
    return append(ours.view(), flags.view(), epoch, next.view(), lease, successor->label);
  }
  append(ours.view(), flags.view(), epoch, next.view(), lease, successor->label,
         AttemptText(*successor->beside).view());
}

void Requests::renew(std::string& out, const Passage& passage,
                     const std::vector<Renewal::Item>& items) const {
  const bool both = settings_.queue_mode == QueueMode::redisson;
  std::vector<std::string> texts;  // reserved, so that the views of it stay
  std::vector<std::string_view> words;
  texts.reserve(items.size() * 3 + 1);
  words.reserve(items.size() * 4 + 5);
  words.push_back(verb_of(passage));
  std::string room;
  words.push_back(words_of(scripts::renew, settings_, passage, room));
  words.push_back(texts.emplace_back(std::to_string(items.size() * (both ? 2 : 1))));
  for (const Renewal::Item& item : items) {
    const std::string& key =
        texts.emplace_back(redis_key(settings_.prefix, item.hold.name, item.hold.mode));
    words.push_back(key);
    // A key of `Once`, or a semaphore, has no second one, which the script sees by this.
    const bool ours = item.hold.mode == Mode::once || item.hold.mode == Mode::permit;
    if (both) words.push_back(ours ? std::string_view(key) : item.hold.name);
  }
  words.emplace_back();
  const Flags flags({mode_}, settings_.remembered);
  words.push_back(flags.view());
  for (const Renewal::Item& item : items) {
    words.push_back(texts.emplace_back(HoldText(item.hold.attempt, item.hold.number).view()));
    words.push_back(texts.emplace_back(milliseconds(item.lease)));
  }
  append_command(out, words);
}

void Requests::inspect(std::string& out, const Passage& passage, std::string_view name) const {
  const Flags flags({mode_}, settings_.remembered);
  append_call(out, settings_, scripts::inspect, passage, name, "", flags.view());
}

void Requests::check(std::string& out, const Passage& passage) const {
  const Flags flags({mode_}, settings_.remembered);
  append_call(out, settings_, scripts::inspect, passage, remote::probed_name, "", flags.view(),
              "w");
}

void Requests::list(std::string& out, const Passage& passage, const Listing& page,
                    std::string_view cursor) const {
  // As long as others wait for that many: a third of a millisecond, if all are ours.
  constexpr std::size_t most_looks = 100;
  const bool of_locks = page.mode() == Mode::exclusive;
  const Flags flags({of_locks ? mode_ : queueing_of_ours(settings_)}, settings_.remembered);
  const std::string pattern = key_pattern(settings_.prefix, page.prefix(), page.mode());
  const Digits looks(std::min(page.limit(), most_looks));
  const Digits prefix(settings_.prefix.size());
  const std::string_view at = cursor.empty() ? std::string_view("0") : cursor;
  std::string room;
  const std::string_view which = words_of(scripts::list, settings_, passage, room);
  append_command(out, std::array<std::string_view, 8>{verb_of(passage), which, "0", at,
                                                      flags.view(), pattern, looks, prefix});
}

void Requests::waiters(std::string& out, const Passage& passage, const QueueLook& look) const {
  if (look.of()) {
    return append_asked(look.mode(), out, settings_, scripts::inspect, scripts::once::inspect,
                        passage, look.name(), Digits(core::number_of(look.of())));
  }
  append_asked(look.mode(), out, settings_, scripts::waiters, scripts::once::waiters, passage,
               look.name(), Digits(look.limit()));
}

void Requests::force_release(std::string& out, const Passage& passage,
                             const FoundHold& found) const {
  const auto append = [&](const auto& which) {
    append_asked(found.hold.mode, out, settings_, scripts::force_release,
                 scripts::once::force_release, passage, found.hold.name, which, "1");
  };
  if (!found.mark.empty()) return append(found.mark);
  append(Digits(found.hold.number));
}

}  // namespace mortise::redis
