// SPDX-License-Identifier: MIT
// hiredis knows the protocol, and trusts what it reads: it would wait for a string of 512 MB, and
// allocate for a header that promises 2^31 elements. The limits are kept in the functions by which
// it makes objects.
#include "redis/store/reply.hpp"

#include <hiredis/read.h>

#include <charconv>
#include <exception>
#include <new>
#include <string_view>
#include <utility>

namespace mortise::redis {
namespace {

/// Of a status or an error, which say their length only by ending.
constexpr std::size_t longest_line = std::size_t{16} << 10U;
/// hiredis gives its empty buffer back where it has grown beyond this; several reads of a stream
/// must fit, or each of them would allocate.
constexpr std::size_t kept_buffer = std::size_t{64} << 10U;

}  // namespace

// hiredis calls the functions below for each element as soon as it has read it (an array: its
// header), and none of them may throw through it. The elements live in `root`, so that the strings
// of the reply before last, which the caller swapped in, give their memory to this one.
struct ReplyReader::Parser {
  explicit Parser(ReplyLimits given);

  static Parser& of(const redisReadTask* task) { return *static_cast<Parser*>(task->privdata); }
  static void* create_string(const redisReadTask* task, char* text, std::size_t size) noexcept;
  template <class Count>  // int, or from hiredis 1.0 on std::size_t
  static void* create_array(const redisReadTask* task, Count count) noexcept;
  static void* create_integer(const redisReadTask* task, long long value) noexcept;
  static void* create_nil(const redisReadTask* task) noexcept;
  static void free_object(void* /*reply*/) noexcept {}  // `root` owns it

  Reply& element(const redisReadTask* task, Reply::Kind kind);
  bool fits(std::size_t size);
  bool fits_ahead();
  void refuse(std::string words);

  static redisReplyObjectFunctions functions;

  const ReplyLimits limits;
  const std::unique_ptr<redisReader, decltype(&::redisReaderFree)> reader;
  Reply root;
  std::size_t bytes = 0;  // of the reply that is being read
  std::size_t items = 0;  // the same
  std::string error;
  bool short_of_memory = false;
};

ReplyReader::Parser::Parser(ReplyLimits given)
    : limits(given), reader(::redisReaderCreateWithFunctions(&functions), &::redisReaderFree) {
  if (reader == nullptr) throw std::bad_alloc();
  reader->privdata = this;
  reader->maxbuf = kept_buffer;
}

void ReplyReader::Parser::refuse(std::string words) {
  if (error.empty()) error = std::move(words);
}

Reply& ReplyReader::Parser::element(const redisReadTask* task, Reply::Kind kind) {
  Reply& reply =
      task->parent == nullptr
          ? root
          : static_cast<Reply*>(task->parent->obj)->items[static_cast<std::size_t>(task->idx)];
  reply.kind = kind;
  reply.integer = 0;
  reply.text.clear();
  if (kind != Reply::Kind::array) reply.items.clear();
  return reply;
}

bool ReplyReader::Parser::fits(std::size_t size) {
  if (size <= limits.bytes - bytes) return true;
  refuse("the reply has more than " + std::to_string(limits.bytes) + " bytes");
  return false;
}

void* ReplyReader::Parser::create_string(const redisReadTask* task, char* text,
                                         std::size_t size) noexcept {
  Parser& self = of(task);
  try {
    if (!self.fits(size)) return nullptr;
    self.bytes += size;
    Reply& reply = self.element(task, task->type == REDIS_REPLY_STATUS  ? Reply::Kind::status
                                      : task->type == REDIS_REPLY_ERROR ? Reply::Kind::error
                                                                        : Reply::Kind::string);
    reply.text.assign(text, size);
    return &reply;
  } catch (const std::exception&) {
    self.short_of_memory = true;
    return nullptr;
  }
}

template <class Count>
void* ReplyReader::Parser::create_array(const redisReadTask* task, Count count) noexcept {
  Parser& self = of(task);
  try {
    const auto size = static_cast<std::size_t>(count);
    if (size > self.limits.items - self.items) {
      self.refuse("the reply has more than " + std::to_string(self.limits.items) + " elements");
      return nullptr;
    }
    self.items += size;
    Reply& reply = self.element(task, Reply::Kind::array);
    reply.items.resize(size);
    return &reply;
  } catch (const std::exception&) {
    self.short_of_memory = true;
    return nullptr;
  }
}

void* ReplyReader::Parser::create_integer(const redisReadTask* task, long long value) noexcept {
  Reply& reply = of(task).element(task, Reply::Kind::integer);
  reply.integer = value;
  return &reply;
}

void* ReplyReader::Parser::create_nil(const redisReadTask* task) noexcept {
  return &of(task).element(task, Reply::Kind::nil);
}

redisReplyObjectFunctions ReplyReader::Parser::functions{
    .createString = create_string,
    .createArray = create_array,
    .createInteger = create_integer,
    .createNil = create_nil,
    .freeObject = free_object,
};

// hiredis waits for the whole of an element, however long that says it will be.
bool ReplyReader::Parser::fits_ahead() {
  if (reader->ridx < 0 || reader->len == reader->pos) return true;
  const std::string_view rest(reader->buf + reader->pos, reader->len - reader->pos);
  const std::size_t end = rest.find("\r\n");
  if (end == std::string_view::npos) {
    if (rest.size() <= longest_line) return true;
    refuse("the reply has a line of more than " + std::to_string(longest_line) + " bytes");
    return false;
  }
  std::size_t size = 0;  // of a string; nothing else waits behind a whole line
  std::from_chars(rest.data(), rest.data() + end, size);
  return fits(size);
}

ReplyReader::ReplyReader(ReplyLimits limits) : parser_(std::make_unique<Parser>(limits)) {}

ReplyReader::~ReplyReader() = default;

void ReplyReader::feed(std::span<const char> bytes) {
  Parser& parser = *parser_;
  if (!parser.error.empty()) return;
  if (::redisReaderFeed(parser.reader.get(), bytes.data(), bytes.size()) != REDIS_OK) {
    parser.refuse(parser.reader->errstr);
  }
}

ReplyReader::Next ReplyReader::next(Reply& reply) {
  Parser& parser = *parser_;
  if (!parser.error.empty()) return Next::broken;
  if (parser.reader->len == parser.reader->pos) return Next::more;  // as behind most replies
  void* whole = nullptr;
  if (::redisReaderGetReply(parser.reader.get(), &whole) != REDIS_OK) {
    // The reply is as valid as any, and the next connection may read it.
    if (parser.short_of_memory) throw std::bad_alloc();
    // One of the texts quotes the byte; who sees the message need not be who may see the bytes.
    const std::string_view words(parser.reader->errstr);
    const bool quotes = words.starts_with("Protocol error");
    parser.refuse("the reply is not valid RESP" + (quotes ? "" : ": " + std::string(words)));
  } else if (whole != nullptr) {
    std::swap(reply, parser.root);
    parser.bytes = 0;
    parser.items = 0;
    return Next::reply;
  } else if (parser.fits_ahead()) {
    return Next::more;
  }
  return Next::broken;
}

const std::string& ReplyReader::error() const noexcept { return parser_->error; }

}  // namespace mortise::redis
