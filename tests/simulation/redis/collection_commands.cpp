// SPDX-License-Identifier: MIT
// Commands of lists and sets (t_list.c, t_set.c): as many as strangers' keys of another type, and
// the queues of other lock libraries, need.
#include "simulation/redis/command.hpp"
#include "simulation/redis/commands.hpp"
#include "simulation/redis/numbers.hpp"

#include <algorithm>
#include <string>

namespace simulation::redis {
namespace {

void push(Invocation& call, bool in_front) {
  ListValue* const list = look_or_make<ListValue>(call, call.word(1));
  if (list == nullptr) return;
  for (const std::string_view word : call.words.subspan(2)) {
    if (in_front) {
      list->emplace_front(word);
    } else {
      list->emplace_back(word);
    }
  }
  call.reply.integer(size_of(list->size()));
}

void pop(Invocation& call, bool in_front) {
  if (call.words.size() > 2) return call.reply.error("ERR this model pops one at a time");
  const auto found = look<ListValue>(call, call.word(1));
  if (found.mistyped()) return;
  if (found.content == nullptr) return call.reply.nil();
  ListValue& list = *found.content;
  call.reply.bulk(in_front ? list.front() : list.back());
  if (in_front) {
    list.pop_front();
  } else {
    list.pop_back();
  }
  if (list.empty()) call.keys().erase(call.word(1));
}

}  // namespace

void lpush(Invocation& call) { push(call, true); }
void rpush(Invocation& call) { push(call, false); }
void lpop(Invocation& call) { pop(call, true); }
void rpop(Invocation& call) { pop(call, false); }

void llen(Invocation& call) {
  const auto found = look<ListValue>(call, call.word(1));
  if (found.mistyped()) return;
  call.reply.integer(found.content == nullptr ? 0 : size_of(found.content->size()));
}

void lrange(Invocation& call) {
  const auto from = parse_integer(call.word(2));
  const auto to = parse_integer(call.word(3));
  if (!from || !to) return call.reply.error(not_an_integer);
  const auto found = look<ListValue>(call, call.word(1));
  if (found.mistyped()) return;
  if (found.content == nullptr) return call.reply.array(0);
  const std::int64_t size = size_of(found.content->size());
  const std::int64_t first = std::max<std::int64_t>(*from < 0 ? *from + size : *from, 0);
  const std::int64_t last = std::min(*to < 0 ? *to + size : *to, size - 1);
  if (first > last) return call.reply.array(0);
  call.reply.array(static_cast<std::size_t>(last - first + 1));
  for (std::int64_t i = first; i <= last; ++i) {
    call.reply.bulk((*found.content)[static_cast<std::size_t>(i)]);
  }
}

void sadd(Invocation& call) {
  SetValue* const items = look_or_make<SetValue>(call, call.word(1));
  if (items == nullptr) return;
  std::int64_t added = 0;
  for (const std::string_view word : call.words.subspan(2)) {
    added += items->emplace(word).second ? 1 : 0;
  }
  call.reply.integer(added);
}

void srem(Invocation& call) {
  const auto found = look<SetValue>(call, call.word(1));
  if (found.mistyped()) return;
  if (found.content == nullptr) return call.reply.integer(0);
  std::int64_t gone = 0;
  for (const std::string_view word : call.words.subspan(2)) {
    const auto item = found.content->find(word);
    if (item == found.content->end()) continue;
    found.content->erase(item);
    ++gone;
  }
  if (found.content->empty()) call.keys().erase(call.word(1));
  call.reply.integer(gone);
}

void scard(Invocation& call) {
  const auto found = look<SetValue>(call, call.word(1));
  if (found.mistyped()) return;
  call.reply.integer(found.content == nullptr ? 0 : size_of(found.content->size()));
}

void sismember(Invocation& call) {
  const auto found = look<SetValue>(call, call.word(1));
  if (found.mistyped()) return;
  call.reply.integer(found.content != nullptr && found.content->contains(call.word(2)) ? 1 : 0);
}

}  // namespace simulation::redis
